import type { DuckDBConnection } from "@duckdb/node-api";
import { ADDED_SUMS, EVENT_SUMS, HOUR_OF_EVENT } from "../append/hour_sums.ts";
import { BY_SUBSCRIPTION, groupsOf } from "../query/sums_names.ts";
import { lastSeq } from "../engine/last_seq.ts";
import { asNumber, asText, Parameters, query } from "../engine/sql.ts";

/** The names of each company's group sums, as in sums_names.ts. */
export type SummedKeys = ReadonlyMap<number, ReadonlySet<string>>;

/** What the group sums hold. */
export interface Summed {
  keys: SummedKeys;
  /** The number of the last event in them. */
  seq: number;
}

/** Which companies have group sums. */
export interface GroupSumsLimits {
  /** Events of a company that are read in a few ms: with fewer it has none. */
  min_events: number;
  /** Rows of sums for each event, at most; those that there are may become twice as many. */
  max_share: number;
  /** Events moved or added by one transaction: commits wait while it records the deleted rows. */
  move_rows: number;
}

/** Queries after which a company gets sums by a metadata key, and how many such sums it has at most. */
const ENOUGH_QUERIES = 3;
const MAX_KEYS = 8;
/** Such sums that are missing and whose queries are counted. */
const COUNTED_KEYS = 10_000;

/** Background work: its connection, and how it runs a transaction. */
export interface Background {
  connection: DuckDBConnection;
  transact: (work: () => Promise<void>) => Promise<void>;
}

/** One company's sums of one name, which its rows have as their `key`. */
interface Sums {
  company_id: number;
  key: string;
}

const COLUMNS = "company_id, key, subscription_id, hour, value";

/**
 * The sums by subscription and hour of companies with many events, and those by the value of a metadata key too where
 * they are asked for, if they are far fewer than the events. The compaction brings them up to an event; queries read
 * the later ones themselves, so that commits have nothing to do with it.
 */
export class GroupSums {
  readonly #limits: GroupSumsLimits;
  /** The number of queries that missed sums, by `nameOf`: those counted last. */
  readonly #queries = new Map<string, Sums & { count: number }>();
  /** The company's events when its sums would have been too many, or could not be made; by `nameOf`. */
  readonly #refused = new Map<string, number>();
  #summed: Summed;
  #is_changing = false;
  #is_wanted = false;

  private constructor(limits: GroupSumsLimits, summed: Summed) {
    this.#limits = limits;
    this.#summed = summed;
  }

  static async open(connection: DuckDBConnection, limits: GroupSumsLimits): Promise<GroupSums> {
    let summed: Summed = { keys: new Map(), seq: 0 };
    for (const [company_id, key, seq] of await query(
      connection,
      "SELECT company_id, key, seq FROM usage_summed",
    )) {
      summed = { keys: withKey(summed.keys, asNumber(company_id), asText(key)), seq: asNumber(seq) };
    }
    return new GroupSums(limits, summed);
  }

  /**
   * What the sums hold, undefined while a transaction changes it. The result of a statement that goes by it counts only
   * if it is the same object when the statement is over.
   */
  get summed(): Summed | undefined {
    return this.#is_changing ? undefined : this.#summed;
  }

  /** Counts a query of so many events for which the sums `key` would suffice, unless they are there, or these are few. */
  countQuery(company_id: number, key: string, events: number): void {
    if (key === BY_SUBSCRIPTION || this.#summed.keys.get(company_id)?.has(key) === true) return;
    if (events < this.#limits.min_events) return;
    const sums = { company_id, key };
    const name = nameOf(sums);
    const count = (this.#queries.get(name)?.count ?? 0) + 1;
    this.#queries.delete(name);
    this.#queries.set(name, { ...sums, count });
    if (count === ENOUGH_QUERIES) this.#is_wanted = true;
    if (this.#queries.size <= COUNTED_KEYS) return;
    const [oldest] = this.#queries.keys();
    if (oldest !== undefined) this.#queries.delete(oldest);
  }

  /** Whether sums have been asked for since the last update. */
  get is_wanted(): boolean {
    return this.#is_wanted;
  }

  /** Adds the events up to `last_seq`, all of which are committed, and decides which companies have sums. */
  async update(work: Background, last_seq: number): Promise<void> {
    this.#is_wanted = false;
    if (this.#summed.keys.size > 0) await this.#advance(work, last_seq);
    else {
      // Up to an event that is there: numbers that none got are given again after a restart.
      const seq = Math.min(last_seq, await lastSeq(work.connection, this.#summed.seq));
      this.#summed = { ...this.#summed, seq };
    }
    const events = await countBy(work.connection, "sum(events)::BIGINT FROM usage_hours GROUP BY company_id");
    await this.#deleteExcess(work, events);
    for (const [company_id, count] of events)
      await this.#add(work, { company_id, key: BY_SUBSCRIPTION }, count);
    // A list of its own: queries go on being counted.
    const asked = [...this.#queries.values()].filter(({ count }) => count >= ENOUGH_QUERIES);
    for (const { company_id, key } of asked) {
      await this.#add(work, { company_id, key }, events.get(company_id) ?? 0);
    }
  }

  /**
   * Changes the metadata of a company's events: its sums by metadata keys end in the same transaction, and the next query
   * that they would suffice for has them made again.
   */
  async changeMetadata(work: Background, company_id: number, change: () => Promise<void>): Promise<void> {
    const present = this.#summed.keys.get(company_id) ?? [];
    const stale = [...present].filter((key) => key !== BY_SUBSCRIPTION).map((key) => ({ company_id, key }));
    if (stale.length === 0) return work.transact(change);
    const keys = stale.reduce((left, { key }) => withoutKey(left, company_id, key), this.#summed.keys);
    await this.#change(work, { ...this.#summed, keys }, async () => {
      await change();
      for (const sums of stale) await deleteSums(work.connection, sums);
    });
    for (const sums of stale) this.#queries.set(nameOf(sums), { ...sums, count: ENOUGH_QUERIES - 1 });
  }

  /** Makes all sums again from the events. */
  async rebuild(work: Background): Promise<void> {
    for (const sums of listSums(this.#summed.keys)) {
      await this.#change(work, this.#summed, async ({ seq }) => {
        await deleteSums(work.connection, sums);
        await insertSums(work.connection, sums, `company_id = ${sums.company_id} AND seq <= ${seq}`);
      });
    }
  }

  async #advance(work: Background, last_seq: number): Promise<void> {
    const slices = await query(
      work.connection,
      `SELECT max(seq) FROM usage_events WHERE seq > ${this.#summed.seq} AND seq <= ${last_seq}
      GROUP BY seq // ${this.#limits.move_rows} ORDER BY 1`,
    );
    for (const [last] of slices) {
      const { keys, seq: after_seq } = this.#summed;
      await this.#change(work, { keys, seq: asNumber(last) }, ({ seq }) =>
        addEvents(work.connection, keys, `seq > ${after_seq} AND seq <= ${seq}`),
      );
    }
  }

  /** Deletes sums of which there are too many by now. */
  async #deleteExcess(work: Background, events: ReadonlyMap<number, number>): Promise<void> {
    const counted = await query(
      work.connection,
      "SELECT company_id, key, count(*) FROM usage_group_hours GROUP BY company_id, key",
    );
    for (const [company_id, key, rows] of counted) {
      const sums = { company_id: asNumber(company_id), key: asText(key) };
      const count = events.get(sums.company_id) ?? 0;
      if (asNumber(rows) <= 2 * this.#limits.max_share * count) continue;
      this.#refused.set(nameOf(sums), count);
      const keys = withoutKey(this.#summed.keys, sums.company_id, sums.key);
      await this.#change(work, { ...this.#summed, keys }, () => deleteSums(work.connection, sums));
    }
  }

  /** Makes the sums, unless they are there, or would be too many for so many events. */
  async #add(work: Background, sums: Sums, events: number): Promise<void> {
    const { keys, seq } = this.#summed;
    const { company_id, key } = sums;
    const present = keys.get(company_id);
    const of_keys = [...(present ?? [])].filter((one) => one !== BY_SUBSCRIPTION);
    const is_full = key !== BY_SUBSCRIPTION && of_keys.length >= MAX_KEYS;
    if (events < this.#limits.min_events || present?.has(key) === true || is_full) return;
    if (events < 2 * (this.#refused.get(nameOf(sums)) ?? 0)) return;
    if ((await estimateRows(work.connection, sums)) > this.#limits.max_share * events) {
      this.#refused.set(nameOf(sums), events);
      return;
    }
    try {
      await this.#change(work, { keys: withKey(keys, company_id, key), seq }, () =>
        insertSums(work.connection, sums, `company_id = ${company_id} AND seq <= ${seq}`),
      );
    } catch (error) {
      // Not tried again at once: what needs more memory or disk than there is would end every compaction.
      this.#refused.set(nameOf(sums), events);
      throw error;
    }
  }

  /** Changes the sums, and the record of what they hold, in one transaction; no query goes by them meanwhile. */
  async #change(
    { connection, transact }: Background,
    next: Summed,
    change: (next: Summed) => Promise<void>,
  ): Promise<void> {
    this.#is_changing = true;
    try {
      await transact(async () => {
        await change(next);
        await recordSummed(connection, next);
      });
      this.#summed = { ...next };
    } finally {
      this.#is_changing = false;
    }
  }
}

function nameOf({ company_id, key }: Sums): string {
  return `${company_id} ${key}`;
}

function listSums(keys: SummedKeys): Sums[] {
  return [...keys].flatMap(([company_id, of_company]) => [...of_company].map((key) => ({ company_id, key })));
}

function withKey(keys: SummedKeys, company_id: number, key: string): SummedKeys {
  return new Map(keys).set(company_id, new Set([...(keys.get(company_id) ?? []), key]));
}

function withoutKey(keys: SummedKeys, company_id: number, key: string): SummedKeys {
  const left = new Map(keys);
  const of_company = [...(keys.get(company_id) ?? [])].filter((one) => one !== key);
  if (of_company.length === 0) left.delete(company_id);
  else left.set(company_id, new Set(of_company));
  return left;
}

async function recordSummed(connection: DuckDBConnection, { keys, seq }: Summed): Promise<void> {
  await connection.run("DELETE FROM usage_summed");
  const all = listSums(keys);
  if (all.length === 0) return;
  const parameters = new Parameters();
  const ids = parameters.integers(all.map(({ company_id }) => company_id));
  const sql = `INSERT INTO usage_summed
    SELECT unnest(${ids}), unnest(${parameters.texts(all.map(({ key }) => key))}), ${seq}`;
  await query(connection, sql, parameters);
}

/** SQL of the sums of the events that meet a condition. */
export function summedSql({ key }: Pick<Sums, "key">, where: string, parameters: Parameters): string {
  const { subscription_id, value } = groupsOf(key, parameters);
  return `SELECT company_id, ${parameters.text(key)}::VARCHAR AS key, ${subscription_id} AS subscription_id,
    ${HOUR_OF_EVENT} AS hour, ${value} AS value, ${EVENT_SUMS} FROM usage_events WHERE ${where} GROUP BY ALL`;
}

/** Adds events to the sums: the rows of the same group and hour become one. */
async function addEvents(connection: DuckDBConnection, keys: SummedKeys, where: string): Promise<void> {
  await connection.run("CREATE OR REPLACE TEMP TABLE added_sums AS FROM usage_group_hours LIMIT 0");
  const companies = Map.groupBy(listSums(keys), ({ key }) => key);
  for (const [key, sums] of companies) {
    const ids = sums.map(({ company_id }) => company_id).join(", ");
    const parameters = new Parameters();
    const sql = summedSql({ key }, `${where} AND company_id IN (${ids})`, parameters);
    await query(connection, `INSERT INTO added_sums ${sql}`, parameters);
  }
  await connection.run(
    `INSERT INTO added_sums FROM usage_group_hours SEMI JOIN added_sums USING (${COLUMNS})`,
  );
  await connection.run(`DELETE FROM usage_group_hours USING added_sums
    WHERE ${COLUMNS.split(", ")
      .map((column) => `usage_group_hours.${column} = added_sums.${column}`)
      .join(" AND ")}`);
  await connection.run(`INSERT INTO usage_group_hours
    SELECT ${COLUMNS}, ${ADDED_SUMS} FROM added_sums GROUP BY ALL ORDER BY company_id, key, hour`);
  await connection.run("DROP TABLE added_sums");
}

async function insertSums(connection: DuckDBConnection, sums: Sums, where: string): Promise<void> {
  const parameters = new Parameters();
  const sql = summedSql(sums, where, parameters);
  await query(connection, `INSERT INTO usage_group_hours ${sql} ORDER BY hour`, parameters);
}

async function deleteSums(connection: DuckDBConnection, { company_id, key }: Sums): Promise<void> {
  const parameters = new Parameters();
  const where = `company_id = ${parameters.integer(company_id)} AND key = ${parameters.text(key)}`;
  await query(connection, `DELETE FROM usage_group_hours WHERE ${where}`, parameters);
}

async function countBy(connection: DuckDBConnection, counted: string): Promise<Map<number, number>> {
  const rows = await query(connection, `SELECT company_id, ${counted}`);
  return new Map(rows.map(([company_id, count]) => [asNumber(company_id), asNumber(count)]));
}

/** About how many rows the sums have, within a few percent. */
async function estimateRows(connection: DuckDBConnection, { company_id, key }: Sums): Promise<number> {
  const parameters = new Parameters();
  const { subscription_id, value } = groupsOf(key, parameters);
  const [[rows] = []] = await query(
    connection,
    `SELECT approx_count_distinct(hash(${subscription_id}, ${HOUR_OF_EVENT}, ${value})) FROM usage_events
    WHERE company_id = ${parameters.integer(company_id)}`,
    parameters,
  );
  return asNumber(rows);
}
