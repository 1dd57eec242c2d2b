import type { DuckDBConnection } from "@duckdb/node-api";
import { ADDED_SUMS, EVENT_SUMS } from "../append/hour_sums.ts";
import { lastSeq } from "../engine/last_seq.ts";
import { asNumber, asText, Parameters, query } from "../engine/sql.ts";
import {
  type AskedSums,
  BY_SUBSCRIPTION,
  groupsOf,
  kindOf,
  nameOf,
  spanAt,
  spanEnd,
  type SumsKind,
  VALUE_COLUMNS,
} from "../query/sums_kind.ts";
import { DayStarts } from "./day_starts.ts";

/** Each company's group sums, by their names. */
export type SummedKinds = ReadonlyMap<number, ReadonlyMap<string, SumsKind>>;

/** What the group sums hold. */
export interface Summed {
  kinds: SummedKinds;
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

/** Queries after which a company gets the sums that they missed. */
const ENOUGH_QUERIES = 3;
/** With so many times the events that have sums at all those by hour are many, and questions by day get sums by day too. */
const MANY_TIMES = 10;
/** Sums by metadata keys that a company has at most. */
const MAX_KEYED = 12;
/** Sums that are missing and whose queries are counted. */
const COUNTED_SUMS = 10_000;

/** Background work: its connection, and how it runs a transaction. */
export interface Background {
  connection: DuckDBConnection;
  transact: (work: () => Promise<void>) => Promise<void>;
}

/** One company's sums of one kind. */
interface Sums {
  company_id: number;
  kind: SumsKind;
}

const GROUP_COLUMNS = ["company_id", "name", "subscription_id", "span", ...VALUE_COLUMNS].join(", ");

/**
 * Sums of companies with many events: by subscription and hour, and where queries ask for them by the values of metadata
 * keys, or by day where sums by hour would be nearly as many as the events. The compaction brings them up to an event;
 * queries read the later ones themselves, so that commits have nothing to do with it.
 */
export class GroupSums {
  readonly #limits: GroupSumsLimits;
  /** The number of queries that missed sums, by `idOf`: those counted last. */
  readonly #queries = new Map<string, Sums & { count: number }>();
  /** The company's events when its sums would have been too many, or could not be made; by `idOf`. */
  readonly #refused = new Map<string, number>();
  readonly #day_starts = new DayStarts();
  #summed: Summed;
  #is_changing = false;
  #is_wanted = false;

  private constructor(limits: GroupSumsLimits, summed: Summed) {
    this.#limits = limits;
    this.#summed = summed;
  }

  static async open(connection: DuckDBConnection, limits: GroupSumsLimits): Promise<GroupSums> {
    let summed: Summed = { kinds: new Map(), seq: 0 };
    for (const [company_id, name, seq] of await query(
      connection,
      "SELECT company_id, name, seq FROM usage_group_summed",
    )) {
      const sums = { company_id: asNumber(company_id), kind: kindOf(asText(name)) };
      summed = { kinds: withSums(summed.kinds, sums), seq: asNumber(seq) };
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

  /**
   * Counts what a query of so many events asks for, unless they are few: of the alternatives that are missing, the first
   * that is not refused.
   */
  countQuery(company_id: number, findAsked: (reads_many: boolean) => AskedSums, events: number): void {
    if (events < this.#limits.min_events) return;
    const { day_starts, missing } = findAsked(events >= MANY_TIMES * this.#limits.min_events);
    this.#day_starts.count(company_id, day_starts);
    const present = this.#summed.kinds.get(company_id);
    const isMissing = (kind: SumsKind) => present?.has(nameOf(kind)) !== true;
    if (missing.some((kinds) => !kinds.some(isMissing))) return;
    const wanted = missing.find((kinds) =>
      kinds.every((kind) => !this.#refused.has(idOf({ company_id, kind }))),
    );
    for (const kind of wanted ?? []) if (isMissing(kind)) this.#count({ company_id, kind });
  }

  #count(sums: Sums): void {
    const id = idOf(sums);
    const count = (this.#queries.get(id)?.count ?? 0) + 1;
    this.#queries.delete(id);
    this.#queries.set(id, { ...sums, count });
    if (count === ENOUGH_QUERIES) this.#is_wanted = true;
    if (this.#queries.size <= COUNTED_SUMS) return;
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
    if (this.#summed.kinds.size > 0) await this.#advance(work, last_seq);
    else {
      // Up to an event that is there: numbers that none got are given again after a restart.
      const seq = Math.min(last_seq, await lastSeq(work.connection, this.#summed.seq));
      this.#summed = { ...this.#summed, seq };
    }
    const events = await countBy(work.connection, "sum(events)::BIGINT FROM usage_hours GROUP BY company_id");
    await this.#deleteExcess(work, events);
    for (const [company_id, count] of events)
      await this.#add(work, { company_id, kind: BY_SUBSCRIPTION }, count);
    // A list of its own: queries go on being counted.
    const asked = [...this.#queries.values()].filter(({ count }) => count >= ENOUGH_QUERIES);
    for (const { company_id, kind } of asked) {
      await this.#add(work, { company_id, kind }, events.get(company_id) ?? 0);
    }
  }

  /**
   * Changes the metadata of a company's events: its sums by metadata keys end in the same transaction, and the next query
   * that they would suffice for has them made again.
   */
  async changeMetadata(work: Background, company_id: number, change: () => Promise<void>): Promise<void> {
    const stale = this.#sumsOf(company_id).filter(({ kind }) => kind.keys.length > 0);
    if (stale.length === 0) return work.transact(change);
    const kinds = stale.reduce(withoutSums, this.#summed.kinds);
    await this.#change(work, { ...this.#summed, kinds }, async () => {
      await change();
      for (const sums of stale) await deleteSums(work.connection, sums);
    });
    for (const sums of stale) this.#queries.set(idOf(sums), { ...sums, count: ENOUGH_QUERIES - 1 });
  }

  /** Makes all sums again from the events. */
  async rebuild(work: Background): Promise<void> {
    for (const sums of listSums(this.#summed.kinds)) {
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
      const { kinds, seq: after_seq } = this.#summed;
      await this.#change(work, { kinds, seq: asNumber(last) }, ({ seq }) =>
        addEvents(work.connection, kinds, `seq > ${after_seq} AND seq <= ${seq}`),
      );
    }
  }

  /** Deletes sums of which there are too many by now. */
  async #deleteExcess(work: Background, events: ReadonlyMap<number, number>): Promise<void> {
    const counted = await query(
      work.connection,
      "SELECT company_id, name, count(*) FROM usage_group_sums GROUP BY company_id, name",
    );
    for (const [company_id, name, rows] of counted) {
      const sums = { company_id: asNumber(company_id), kind: kindOf(asText(name)) };
      const count = events.get(sums.company_id) ?? 0;
      if (asNumber(rows) <= 2 * this.#limits.max_share * count) continue;
      this.#refused.set(idOf(sums), count);
      await this.#delete(work, sums);
    }
  }

  /** Makes the sums, unless they are there, or would be too many for so many events. */
  async #add(work: Background, sums: Sums, events: number): Promise<void> {
    const { company_id, kind } = sums;
    const id = idOf(sums);
    const present = this.#summed.kinds.get(company_id);
    if (events < this.#limits.min_events || present?.has(nameOf(kind)) === true) return;
    if (events < 2 * (this.#refused.get(id) ?? 0) || !(await this.#makeRoom(work, sums))) return;
    if ((await estimateRows(work.connection, sums)) > this.#limits.max_share * events) {
      this.#refused.set(id, events);
      return;
    }
    const { kinds, seq } = this.#summed;
    try {
      await this.#change(work, { kinds: withSums(kinds, sums), seq }, () =>
        insertSums(work.connection, sums, `company_id = ${company_id} AND seq <= ${seq}`),
      );
      this.#queries.delete(id);
    } catch (error) {
      // Not tried again at once: what needs more memory or disk than there is would end every compaction.
      this.#refused.set(id, events);
      throw error;
    }
  }

  /** Whether the company may have these sums too; deletes those by days that nobody asks for any more. */
  async #makeRoom(work: Background, { company_id, kind }: Sums): Promise<boolean> {
    const present = this.#sumsOf(company_id);
    if (kind.keys.length > 0 && present.filter((one) => one.kind.keys.length > 0).length >= MAX_KEYED)
      return false;
    const kept = new Set(present.map((one) => one.kind.day_start_ms).filter((start) => start !== undefined));
    const stale = this.#day_starts.toGiveUp(company_id, kept, kind.day_start_ms);
    if (stale === "none") return false;
    for (const sums of present)
      if (stale !== undefined && sums.kind.day_start_ms === stale) await this.#delete(work, sums);
    return true;
  }

  async #delete(work: Background, sums: Sums): Promise<void> {
    const kinds = withoutSums(this.#summed.kinds, sums);
    await this.#change(work, { ...this.#summed, kinds }, () => deleteSums(work.connection, sums));
  }

  #sumsOf(company_id: number): Sums[] {
    return [...(this.#summed.kinds.get(company_id)?.values() ?? [])].map((kind) => ({ company_id, kind }));
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

/** One company's sums as one text. */
function idOf({ company_id, kind }: Sums): string {
  return `${company_id} ${nameOf(kind)}`;
}

function listSums(kinds: SummedKinds): Sums[] {
  return [...kinds].flatMap(([company_id, of_company]) =>
    [...of_company.values()].map((kind) => ({ company_id, kind })),
  );
}

function withSums(kinds: SummedKinds, { company_id, kind }: Sums): SummedKinds {
  const of_company = new Map(kinds.get(company_id)).set(nameOf(kind), kind);
  return new Map(kinds).set(company_id, of_company);
}

function withoutSums(kinds: SummedKinds, { company_id, kind }: Sums): SummedKinds {
  const left = new Map(kinds);
  const of_company = new Map(kinds.get(company_id));
  of_company.delete(nameOf(kind));
  if (of_company.size === 0) left.delete(company_id);
  else left.set(company_id, of_company);
  return left;
}

async function recordSummed(connection: DuckDBConnection, { kinds, seq }: Summed): Promise<void> {
  await connection.run("DELETE FROM usage_group_summed");
  const all = listSums(kinds);
  if (all.length === 0) return;
  const parameters = new Parameters();
  const ids = parameters.integers(all.map(({ company_id }) => company_id));
  const sql = `INSERT INTO usage_group_summed
    SELECT unnest(${ids}), unnest(${parameters.texts(all.map(({ kind }) => nameOf(kind)))}), ${seq}`;
  await query(connection, sql, parameters);
}

/** SQL of the sums of the events that meet a condition. */
export function summedSql(kind: SumsKind, where: string, parameters: Parameters): string {
  const groups = Object.entries(groupsOf(kind, parameters)).map(([name, sql]) => `${sql} AS ${name}`);
  return `SELECT company_id, ${parameters.text(nameOf(kind))}::VARCHAR AS name, ${groups.join(", ")}, ${EVENT_SUMS}
    FROM usage_events WHERE ${where} GROUP BY ALL`;
}

/** Adds events to the sums: the rows of the same group and time become one. */
async function addEvents(connection: DuckDBConnection, kinds: SummedKinds, where: string): Promise<void> {
  await connection.run("CREATE OR REPLACE TEMP TABLE added_sums AS FROM usage_group_sums LIMIT 0");
  for (const sums of Map.groupBy(listSums(kinds), ({ kind }) => nameOf(kind)).values()) {
    const [{ kind } = { kind: BY_SUBSCRIPTION }] = sums;
    const ids = sums.map(({ company_id }) => company_id).join(", ");
    const parameters = new Parameters();
    const sql = summedSql(kind, `${where} AND company_id IN (${ids})`, parameters);
    await query(connection, `INSERT INTO added_sums ${sql}`, parameters);
  }
  await connection.run(
    `INSERT INTO added_sums FROM usage_group_sums SEMI JOIN added_sums USING (${GROUP_COLUMNS})`,
  );
  await connection.run(`DELETE FROM usage_group_sums USING added_sums
    WHERE ${GROUP_COLUMNS.split(", ")
      .map((column) => `usage_group_sums.${column} = added_sums.${column}`)
      .join(" AND ")}`);
  await connection.run(`INSERT INTO usage_group_sums
    SELECT ${GROUP_COLUMNS}, ${ADDED_SUMS} FROM added_sums GROUP BY ALL ORDER BY company_id, name, span`);
  await connection.run("DROP TABLE added_sums");
}

async function insertSums(connection: DuckDBConnection, { kind }: Sums, where: string): Promise<void> {
  const parameters = new Parameters();
  const sql = summedSql(kind, where, parameters);
  await query(connection, `INSERT INTO usage_group_sums ${sql} ORDER BY span`, parameters);
}

async function deleteSums(connection: DuckDBConnection, sums: Sums, where = "true"): Promise<void> {
  const parameters = new Parameters();
  const of_sums = `company_id = ${parameters.integer(sums.company_id)} AND name = ${parameters.text(nameOf(sums.kind))}`;
  await query(connection, `DELETE FROM usage_group_sums WHERE ${of_sums} AND ${where}`, parameters);
}

/**
 * Takes a company's events before `until_ms`, a whole hour, out of its sums, in the transaction that removed them: a day
 * that it cuts is summed anew.
 */
export async function forgetBefore(
  connection: DuckDBConnection,
  company_id: number,
  until_ms: number,
): Promise<void> {
  const summed = await query(
    connection,
    `SELECT name, seq FROM usage_group_summed WHERE company_id = ${company_id}`,
  );
  for (const [name, seq] of summed) {
    const kind = kindOf(asText(name));
    const sums = { company_id, kind };
    const end_ms = spanEnd(kind, until_ms);
    await deleteSums(connection, sums, `span < ${spanAt(kind, end_ms)}`);
    if (end_ms === until_ms) continue;
    const left = `company_id = ${company_id} AND timestamp < ${end_ms} AND seq <= ${asNumber(seq)}`;
    await insertSums(connection, sums, left);
  }
}

async function countBy(connection: DuckDBConnection, counted: string): Promise<Map<number, number>> {
  const rows = await query(connection, `SELECT company_id, ${counted}`);
  return new Map(rows.map(([company_id, count]) => [asNumber(company_id), asNumber(count)]));
}

/** About how many rows the sums have, within a few percent. */
async function estimateRows(connection: DuckDBConnection, { company_id, kind }: Sums): Promise<number> {
  const parameters = new Parameters();
  const groups = Object.values(groupsOf(kind, parameters));
  const [[rows] = []] = await query(
    connection,
    `SELECT approx_count_distinct(hash(${groups.join(", ")})) FROM usage_events
    WHERE company_id = ${parameters.integer(company_id)}`,
    parameters,
  );
  return asNumber(rows);
}
