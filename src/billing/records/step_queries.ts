import { and, asc, desc, gte, lt, type SQL } from "drizzle-orm";
import { nextTurn } from "../../core/chunk.ts";
import { earlier, instant, iso } from "../../core/time.ts";
import { findRow } from "../../store/list_rows.ts";
import type { ReadTx } from "../../store/store.ts";
import { billingRecordTable } from "./tables.ts";

/** So much is read in one go: an embedded database lets nobody else have a turn meanwhile. */
const STEP = { hours: 31 * 24 };

/** Records that are read in one go, whenever their periods begin: a statement takes as long as a few thousand of them. */
const FEW_RECORDS = 20_000;

/**
 * Records by when their periods begin: all at once where they are `few` at most, else a month of them at a time, with a
 * turn for everything else before each but the first.
 */
export async function* recordSteps(
  { q }: ReadTx,
  where: SQL | undefined,
  few = FEW_RECORDS,
): AsyncGenerator<SQL | undefined> {
  const t = q.use(billingRecordTable);
  const columns = { at: t.billingStartAt };
  const one_more = { columns, where, order: asc(t.billingStartAt), limit: 1, offset: few };
  if ((await findRow(q, t, one_more)) === undefined) {
    yield where;
    return;
  }
  const first = await findRow(q, t, { columns, where, order: asc(t.billingStartAt), limit: 1 });
  const last = await findRow(q, t, { columns, where, order: desc(t.billingStartAt), limit: 1 });
  if (first === undefined || last === undefined) return;
  const end = instant(last.at).add({ milliseconds: 1 });
  for (let from = instant(first.at); Temporal.Instant.compare(from, end) < 0; ) {
    const to = earlier(from.add(STEP), end);
    yield and(where, gte(t.billingStartAt, iso(from)), lt(t.billingStartAt, iso(to)));
    from = to;
    await nextTurn();
  }
}
