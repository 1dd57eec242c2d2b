import { and, asc, count, gt, gte, inArray, lt, lte, max, min, type SQL } from "drizzle-orm";
import { nextTurn } from "../../core/chunk.ts";
import type { Decimal } from "../../core/money.ts";
import type { IsoInstant } from "../../core/time.ts";
import { findRow, matching } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { Reads } from "../../store/store.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { LIMITS } from "../limits.ts";
import { billingRecordTable } from "../records/tables.ts";

/** Which bills may be drawn, or are on a page. */
export interface BillFilter {
  company_id?: number | undefined;
  /** Only those of periods that ended by then. */
  ended_by?: IsoInstant | undefined;
  /** Only those of periods that began from then on. */
  begun_from?: IsoInstant | undefined;
  /** Only those of periods that began before. */
  begun_before?: IsoInstant | undefined;
}

/** A bill, and whose it is. */
export interface BillKey {
  id: number;
  company_id: number;
}

/** A bill's amounts, and its place among the records of its period. */
export interface BillToProve extends BillKey {
  subscription_id: number;
  billingStartAt: IsoInstant;
  billingEndAt: IsoInstant;
  sequence: number;
  currency: string;
  billedUnits: string;
  totalCharges: Decimal;
  lines: BillLine[];
}

function narrowedTo(q: Reads, filter: BillFilter): SQL | undefined {
  const { company_id, ended_by, begun_from, begun_before } = filter;
  const t = q.use(billingRecordTable);
  return and(
    matching(t, { company_id }),
    ended_by === undefined ? undefined : lte(t.billingEndAt, ended_by),
    begun_from === undefined ? undefined : gte(t.billingStartAt, begun_from),
    begun_before === undefined ? undefined : lt(t.billingStartAt, begun_before),
  );
}

/** The bills after an id, ascending. */
export function listBillPage(
  q: Reads,
  filter: BillFilter,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<BillKey[]> {
  const t = q.use(billingRecordTable);
  return selectRows(q, t, {
    columns: { id: t.id, company_id: t.company_id },
    where: and(gt(t.id, after_id), narrowedTo(q, filter)),
    order: asc(t.id),
    limit,
  });
}

/**
 * So many bills, each as likely as any other; all where there are no more. `below(n)` draws a whole number under n.
 * Ids are drawn from their whole span, and those that are no bill's again; where that would miss too often, as with a
 * company's few bills among those of many, all are listed.
 */
export async function drawBills(
  q: Reads,
  filter: BillFilter,
  wanted: number,
  below: (n: number) => number,
): Promise<BillKey[]> {
  const t = q.use(billingRecordTable);
  const where = narrowedTo(q, filter);
  const span = await findRow(q, t, {
    columns: { there: count(), first: min(t.id), last: max(t.id) },
    where,
  });
  const there = span?.there ?? 0;
  const first = span?.first ?? 0;
  const ids = (span?.last ?? 0) - first + 1;
  const guesses = (wanted * ids) / there;
  if (there <= 2 * wanted || there < guesses) return drawListed(await listAll(q, filter), wanted, below);
  const drawn = new Map<number, BillKey>();
  while (drawn.size < wanted) {
    const some = Array.from({ length: LIMITS.proof_batch }, () => first + below(ids));
    const rows = await selectRows(q, t, {
      columns: { id: t.id, company_id: t.company_id },
      where: and(inArray(t.id, [...new Set(some)]), gte(t.id, first), where),
      order: asc(t.id),
    });
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of some) {
      const row = found.get(id);
      if (row && drawn.size < wanted) drawn.set(id, row);
    }
  }
  return [...drawn.values()].toSorted((a, b) => a.id - b.id);
}

async function listAll(q: Reads, filter: BillFilter): Promise<BillKey[]> {
  const all: BillKey[] = [];
  const limit = LIMITS.proof_page;
  for (;;) {
    const page = await listBillPage(q, filter, { after_id: all.at(-1)?.id ?? 0, limit });
    all.push(...page);
    if (page.length < limit) return all;
    await nextTurn();
  }
}

/** Draws from a list by moving what is drawn to its front. */
function drawListed(all: BillKey[], wanted: number, below: (n: number) => number): BillKey[] {
  const size = Math.min(wanted, all.length);
  for (let i = 0; i < size; i++) {
    const other = i + below(all.length - i);
    const [one, drawn] = [all[i], all[other]];
    if (one && drawn) [all[i], all[other]] = [drawn, one];
  }
  return all.slice(0, size).toSorted((a, b) => a.id - b.id);
}

/** Bills with their amounts. */
export function listBills(q: Reads, ids: readonly number[]): Promise<BillToProve[]> {
  const { id, company_id, subscription_id, billingStartAt, billingEndAt, ...t } = q.use(billingRecordTable);
  const { sequence, currency, billedUnits, totalCharges, lines } = t;
  const place = { id, company_id, subscription_id, billingStartAt, billingEndAt, sequence };
  return selectRows(q, q.use(billingRecordTable), {
    columns: { ...place, currency, billedUnits, totalCharges, lines },
    where: inArray(id, [...ids]),
    order: asc(id),
  });
}
