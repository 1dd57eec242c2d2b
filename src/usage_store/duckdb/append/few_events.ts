import type { DuckDBConnection, DuckDBPreparedStatement } from "@duckdb/node-api";
import { usageOf } from "../../append/append_request.ts";
import type { AppendDecision } from "../../append/deduplicate.ts";
import { EVENT_COLUMNS, type HotTable } from "../engine/schema.ts";
import { decimalSql } from "../engine/sql.ts";

/** More events than this cost the engine too much as text. */
export const FEW_EVENTS = 512;

/** A list of each column, as text, in their order. */
const LISTS = Object.entries(EVENT_COLUMNS).map(([name, type], i) =>
  name === "metadata"
    ? `unnest(from_json($${i + 1}, '["VARCHAR"]'))`
    : `unnest(string_split($${i + 1}, ',')::${String(type)}[])`,
);

/**
 * Inserts commits of few events by a statement, which runs on the engine's threads: an appender's insert runs on this
 * one, and requests would wait for it.
 */
export class FewEventsInsert {
  readonly #connection: DuckDBConnection;
  readonly #prepared = new Map<HotTable, DuckDBPreparedStatement>();

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Inserts the new events of all decisions, numbered from `first_seq`, within the open transaction. */
  async run(table: HotTable, decisions: readonly AppendDecision[], first_seq: number): Promise<void> {
    const columns: (string | number | null)[][] = LISTS.map(() => []);
    const [seqs, companies, subscriptions, timestamps, ids, usages, metadata, created] = columns;
    let seq = first_seq;
    for (const { request, fresh } of decisions) {
      for (const position of fresh) {
        const event = request.events[position];
        if (event === undefined) throw new RangeError(`Cannot write event ${position}: there is none`);
        seqs?.push(seq++);
        companies?.push(request.company_id);
        subscriptions?.push(event.subscription_id);
        timestamps?.push(event.timestamp);
        ids?.push(event.id);
        usages?.push(decimalSql(usageOf(request, position)));
        metadata?.push(event.metadata);
        created?.push(request.created_at);
      }
    }
    const statement = await this.#statement(table);
    for (const [i, values] of columns.entries()) {
      statement.bindVarchar(i + 1, values === metadata ? JSON.stringify(values) : values.join(","));
    }
    await statement.run();
  }

  async #statement(table: HotTable): Promise<DuckDBPreparedStatement> {
    const known = this.#prepared.get(table);
    if (known !== undefined) return known;
    const prepared = await this.#connection.prepare(`INSERT INTO ${table} SELECT ${LISTS.join(", ")}`);
    this.#prepared.set(table, prepared);
    return prepared;
  }

  /** Ends the statements; to be called before the connection is closed. */
  close(): void {
    for (const prepared of this.#prepared.values()) prepared.destroySync();
    this.#prepared.clear();
  }
}
