import { count, type SQL } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { LIMITS } from "./limits.ts";
import { QueryStructure } from "./query_structure.ts";
import { RowReader } from "./row_reader.ts";
import type { RowOf, Selection } from "./row_of.ts";
import type { Reads } from "./store.ts";

/** What a query reads of a table; what is undefined narrows nothing. */
export interface RowQuery<F extends Selection> {
  columns: F;
  /** Tables that are joined, and by what. */
  joins?: readonly (readonly [PgTable, SQL | undefined])[];
  where?: SQL | undefined;
  order?: SQL | readonly SQL[];
  limit?: number;
  offset?: number;
}

/** The SQL texts of queries by their structure, of each dialect. */
const texts = new WeakMap<Reads["use"], Map<string, string>>();
const readers = new WeakMap<Selection, RowReader>();

/**
 * The rows that a query finds. Writing its SQL text takes longer than running it: the text is kept by the query's
 * structure, and the statement is prepared once on each connection. Decision 0150.
 */
export async function selectRows<F extends Selection>(
  q: Reads,
  table: PgTable | SQL,
  query: RowQuery<F>,
): Promise<RowOf<F>[]> {
  const { columns } = query;
  const reader = readers.get(columns) ?? new RowReader(columns);
  readers.set(columns, reader);
  const { text, values, is_prepared } = statementOf(q, table, query, reader);
  const rows = await q.run(text, values, is_prepared);
  return rows.map((row) => reader.read(row)) as RowOf<F>[];
}

const TOTAL = { total: count() };

/** How many rows a condition finds. */
export async function countRows(q: Reads, table: PgTable, where: SQL | undefined): Promise<number> {
  const [row] = await selectRows(q, table, { columns: TOTAL, where });
  return row?.total ?? 0;
}

function statementOf(q: Reads, table: PgTable | SQL, query: RowQuery<Selection>, reader: RowReader) {
  const structure = structureOf(table, query, reader);
  const { key, values } = structure;
  const known = texts.get(q.use) ?? new Map<string, string>();
  texts.set(q.use, known);
  const kept = structure.is_known ? known.get(key) : undefined;
  if (kept !== undefined) return { text: kept, values, is_prepared: true };
  const built = build(q, table, query);
  const is_whole = structure.is_known && isSame(values, built.params);
  if (is_whole) {
    known.set(key, built.sql);
    const [oldest] = known.keys();
    if (known.size > LIMITS.query_texts && oldest !== undefined) known.delete(oldest);
  }
  return { text: built.sql, values: built.params, is_prepared: is_whole };
}

function structureOf(
  table: PgTable | SQL,
  { joins = [], where, order, limit, offset }: RowQuery<Selection>,
  reader: RowReader,
): QueryStructure {
  const structure = new QueryStructure();
  structure.addAll(reader.structure);
  structure.add(table);
  for (const [joined, condition] of joins) {
    structure.addWord("join");
    structure.add(joined);
    structure.add(condition);
  }
  structure.addWord("where");
  structure.add(where);
  structure.addWord("order");
  for (const part of ordersOf(order)) {
    structure.add(part);
    structure.addWord(",");
  }
  structure.addWord("limit");
  structure.add(limit);
  structure.addWord("offset");
  // As the query builder has it: the first page has none.
  structure.add(offset === 0 ? undefined : offset);
  return structure;
}

function build(
  q: Reads,
  table: PgTable | SQL,
  { columns, joins = [], where, order, limit, offset }: RowQuery<Selection>,
) {
  // The builder's types follow each selection; here it is any.
  const query = q
    .select(columns as Parameters<Reads["select"]>[0])
    .from(table)
    .$dynamic();
  for (const [joined, condition] of joins) void query.innerJoin(joined, condition);
  void query.where(where).orderBy(...ordersOf(order));
  if (limit !== undefined) void query.limit(limit);
  if (offset !== undefined) void query.offset(offset);
  return query.toSQL();
}

function ordersOf(order: RowQuery<Selection>["order"]): readonly SQL[] {
  if (order === undefined) return [];
  return Array.isArray(order) ? order : [order as SQL];
}

function isSame(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => Object.is(value, b[i]));
}
