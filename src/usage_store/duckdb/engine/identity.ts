import type { DuckDBConnection } from "@duckdb/node-api";
import type { Admission, LastKeys, Opening, StoreFacts } from "../../identity.ts";
import type { Database } from "./database.ts";
import { insertMeta, type Meta } from "./meta.ts";
import { asNumber, query } from "./sql.ts";
import { lastSeq } from "./last_seq.ts";

// The identity stands in usage_meta: store_id, database_id, seq_floor and, for each opening, `opening` with its
// number and id.

/** Lets `decide` admit the store, and records the opening. Errors: those of `decide`. */
export async function admit(
  database: Database,
  decide: (facts: StoreFacts) => Promise<Admission>,
): Promise<void> {
  const connection = await database.instance.connect();
  try {
    await writeAdmission(connection, await decide(await readFacts(connection, database.meta)));
    connection.closeSync();
  } catch (error) {
    connection.closeSync();
    database.close();
    throw error;
  }
}

/** Reads the store's identity and extent. */
async function readFacts(connection: DuckDBConnection, meta: Meta): Promise<StoreFacts> {
  const valueOf = (name: string) => meta.get(name)?.[0];
  return {
    store_id: valueOf("store_id") ?? "",
    database_id: valueOf("database_id") ?? null,
    openings: (meta.get("opening") ?? []).map(readOpening).toSorted((a, b) => a.number - b.number),
    last_seq: await lastSeq(connection, 0),
    keysAbove: (given) => keysAbove(connection, given),
  };
}

/** Only what is higher is looked for: the blocks' statistics exclude the rest, where a maximum would read all events. */
async function keysAbove(connection: DuckDBConnection, given: LastKeys): Promise<LastKeys> {
  const highest = (column: keyof LastKeys): string =>
    `coalesce((SELECT max(${column}) FROM usage_events WHERE ${column} > ${given[column]}), ${given[column]})`;
  const sql = `SELECT ${highest("company_id")}, ${highest("subscription_id")}`;
  const [[company_id, subscription_id] = []] = await query(connection, sql);
  return { company_id: asNumber(company_id), subscription_id: asNumber(subscription_id) };
}

function readOpening(value: string): Opening {
  const [number = "", id = ""] = value.split(" ");
  return { number: Number(number), id };
}

/** Records the store's database and its opening; durable when it resolves. */
async function writeAdmission(
  connection: DuckDBConnection,
  { database_id, opening, known, seq_floor }: Admission,
): Promise<void> {
  await connection.run(`BEGIN; DELETE FROM usage_meta WHERE name IN ('database_id', 'seq_floor')`);
  await deleteOpeningsBefore(connection, known ?? opening);
  await insertMeta(connection, {
    database_id,
    seq_floor: String(seq_floor),
    opening: `${opening.number} ${opening.id}`,
  });
  await connection.run("COMMIT");
}

/** Deletes the openings before one that the database recorded. */
export async function deleteOpeningsBefore(connection: DuckDBConnection, { number }: Opening): Promise<void> {
  await connection.run(
    `DELETE FROM usage_meta WHERE name = 'opening' AND split_part(value, ' ', 1)::BIGINT < ${number}`,
  );
}
