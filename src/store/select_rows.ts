import { count, type SQL } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { statementOf } from "./kept_text.ts";
import { QueryStructure } from "./query_structure.ts";
import { readerOf, readRows, type RowReader } from "./row_reader.ts";
import type { RowOf, Selection } from "./row_of.ts";
import type { Reads } from "./store.ts";

type Join = readonly [PgTable, SQL | undefined];

/** What a query reads of a table; what is undefined narrows nothing. */
export interface RowQuery<F extends Selection> {
  columns: F;
  /** Tables that are joined, and by what. */
  joins?: readonly Join[];
  /** Tables whose columns are null where none of their rows fits. */
  left_joins?: readonly Join[];
  where?: SQL | undefined;
  order?: SQL | readonly SQL[];
  limit?: number;
  offset?: number;
}

/**
 * The rows that a query finds. Writing its SQL text takes longer than running it: the text is kept by the query's
 * structure, and the statement is prepared once on each connection. Decision 0150.
 */
export async function selectRows<F extends Selection>(
  q: Reads,
  table: PgTable | SQL,
  query: RowQuery<F>,
): Promise<RowOf<F>[]> {
  const reader = readerOf(query.columns);
  const structure = structureOf(table, query, reader);
  const { text, values, is_prepared } = statementOf(q, structure, () => buildSelect(q, table, query));
  return readRows(query.columns, await q.run(text, values, is_prepared));
}

const TOTAL = { total: count() };

/** How many rows a condition finds. */
export async function countRows(q: Reads, table: PgTable, where: SQL | undefined): Promise<number> {
  const [row] = await selectRows(q, table, { columns: TOTAL, where });
  return row?.total ?? 0;
}

function structureOf(
  table: PgTable | SQL,
  { joins = [], left_joins = [], where, order, limit, offset }: RowQuery<Selection>,
  reader: RowReader,
): QueryStructure {
  const structure = new QueryStructure();
  structure.addAll(reader.structure);
  structure.add(table);
  for (const [word, all] of [
    ["join", joins],
    ["left join", left_joins],
  ] as const) {
    for (const [joined, condition] of all) {
      structure.addWord(word);
      structure.add(joined);
      structure.add(condition);
    }
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

/** A query as the query builder writes it. */
export function buildSelect(
  q: Reads,
  table: PgTable | SQL,
  { columns, joins = [], left_joins = [], where, order, limit, offset }: RowQuery<Selection>,
) {
  // The builder's types follow each selection; here it is any.
  const query = q
    .select(columns as Parameters<Reads["select"]>[0])
    .from(table)
    .$dynamic();
  for (const [joined, condition] of joins) void query.innerJoin(joined, condition);
  for (const [joined, condition] of left_joins) void query.leftJoin(joined, condition);
  void query.where(where).orderBy(...ordersOf(order));
  if (limit !== undefined) void query.limit(limit);
  if (offset !== undefined) void query.offset(offset);
  return query.toSQL();
}

function ordersOf(order: RowQuery<Selection>["order"]): readonly SQL[] {
  if (order === undefined) return [];
  return Array.isArray(order) ? order : [order as SQL];
}
