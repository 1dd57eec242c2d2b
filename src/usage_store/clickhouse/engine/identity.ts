import type { LastKeys, StoreFacts } from "../../identity.ts";
import type { ClickHouse } from "./engine.ts";
import type { StoreMeta } from "./schema.ts";
import { asNumber, asText, integer, text } from "./sql.ts";

/** How long a question about the store itself may take. */
const FACTS_MS = 60_000;

/** What a database is told of a store before it uses it. */
export interface LaneFacts extends StoreFacts {
  lanes: number;
  /** The number of the last commit by now, the marks of a lane without events included. */
  readLastSeq(): Promise<number>;
  /**
   * Records the database that the store belongs to, unless one is recorded, and returns the one that is. `anew`: it takes the
   * place of that one.
   */
  claim(database_id: string, options: { anew: boolean }): Promise<string>;
}

/** Reads what a store is recognised by. */
export async function readFacts(engine: ClickHouse, { lanes, store_id }: StoreMeta): Promise<LaneFacts> {
  const readLastSeq = async () => {
    const [[seq = 0] = []] = await engine.ask("SELECT max(seq) FROM usage_events", { timeout_ms: FACTS_MS });
    return asNumber(seq);
  };
  return {
    store_id,
    lanes,
    database_id: await readDatabase(engine),
    // The lanes' rows have their epochs in the place of openings.
    openings: [],
    last_seq: await readLastSeq(),
    keysAbove: (given) => keysAbove(engine, given),
    readLastSeq,
    async claim(database_id, { anew }) {
      if (anew)
        await engine.run("ALTER TABLE usage_meta DELETE WHERE name = 'database_id'", FACTS_MS, {
          mutations_sync: "2",
        });
      // Of two that claim it at once the token keeps one's; who claims it anew is alone.
      await engine.run(`INSERT INTO usage_meta VALUES ('database_id', ${text(database_id)})`, FACTS_MS, {
        async_insert: 0,
        insert_deduplication_token: anew ? `database ${crypto.randomUUID()}` : "database",
      });
      return (await readDatabase(engine)) ?? "";
    },
  };
}

async function readDatabase(engine: ClickHouse): Promise<string | null> {
  const [[value = null] = []] = await engine.ask("SELECT value FROM usage_meta WHERE name = 'database_id'", {
    timeout_ms: FACTS_MS,
  });
  return value === null ? null : asText(value);
}

async function keysAbove(engine: ClickHouse, given: LastKeys): Promise<LastKeys> {
  const { company_id, subscription_id } = given;
  const [[company = 0, subscription = 0] = []] = await engine.ask(
    `SELECT max(company_id), max(subscription_id) FROM usage_events
    WHERE company_id > ${integer(company_id)} OR (company_id > 0 AND subscription_id > ${integer(subscription_id)})`,
    { timeout_ms: FACTS_MS },
  );
  return {
    company_id: Math.max(company_id, asNumber(company)),
    subscription_id: Math.max(subscription_id, asNumber(subscription)),
  };
}
