import { and, asc, count, desc, eq, gte, lt } from "drizzle-orm";
import { interleave } from "../../core/chunk.ts";
import type { Bounds } from "../../core/periods.ts";
import type { Amounts } from "../../core/money.ts";
import { earlier, instant, iso, type IsoInstant } from "../../core/time.ts";
import { amountsOf, filterOnly, idIn } from "../../store/expressions.ts";
import { findRow } from "../../store/list_rows.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { productTable } from "../products/tables.ts";
import { billingRecordTable } from "../records/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import type { RevenueGroup } from "./model.ts";

/** What was billed for the periods that begin at an instant, of one group. */
export interface Billed {
  readonly key: number | string | null;
  readonly currency: string;
  readonly billingStartAt: IsoInstant;
  readonly amounts: Amounts;
  readonly records: number;
}

/** So much is read in one go: an embedded database lets nobody else have a turn meanwhile. */
const STEP = { hours: 31 * 24 };

/** What the company billed for periods that begin in `[from, to)`, by currency, start and group. */
export async function listBilled(
  tx: ReadTx,
  bounds: Bounds,
  group_by: RevenueGroup | undefined,
): Promise<Billed[]> {
  const billed: Billed[] = [];
  for await (const steps of interleave(stepsOf(await withRecords(tx, bounds)), 1))
    for (const step of steps) billed.push(...(await billedIn(tx, step, group_by)));
  return billed;
}

/** The part of a range in which periods with records begin; null for none. */
async function withRecords({ q, scope }: ReadTx, { from, to }: Bounds): Promise<Bounds | null> {
  const t = q.use(billingRecordTable);
  const where = and(
    eq(t.company_id, scope.company_id),
    gte(t.billingStartAt, iso(from)),
    lt(t.billingStartAt, iso(to)),
  );
  const columns = { at: t.billingStartAt };
  const first = await findRow(q, t, { columns, where, order: asc(t.billingStartAt), limit: 1 });
  const last = await findRow(q, t, { columns, where, order: desc(t.billingStartAt), limit: 1 });
  if (first === undefined || last === undefined) return null;
  return { from: instant(first.at), to: instant(last.at).add({ milliseconds: 1 }) };
}

function stepsOf(bounds: Bounds | null): Bounds[] {
  if (bounds === null) return [];
  const steps: Bounds[] = [];
  for (let { from } = bounds; Temporal.Instant.compare(from, bounds.to) < 0; ) {
    const to = earlier(from.add(STEP), bounds.to);
    steps.push({ from, to });
    from = to;
  }
  return steps;
}

async function billedIn(
  { q, scope }: ReadTx,
  { from, to }: Bounds,
  group_by: RevenueGroup | undefined,
): Promise<Billed[]> {
  const t = q.use(billingRecordTable);
  const subscriptions = q.use(subscriptionTable);
  const { currency, billingStartAt } = t;
  const sums = { currency, billingStartAt, amounts: amountsOf(t.totalCharges), records: count() };
  const where = and(
    eq(t.company_id, scope.company_id),
    gte(billingStartAt, iso(from)),
    lt(billingStartAt, iso(to)),
  );
  if (group_by === undefined) {
    const rows = await q.select(sums).from(t).where(where).groupBy(currency, billingStartAt);
    return rows.map((row) => ({ ...row, key: null }));
  }
  const keys = {
    client: subscriptions.client_id,
    product: subscriptions.product_id,
    billing_model: t.billing_model_id,
    subscription: t.subscription_id,
    kind: t.kind,
  };
  const key = keys[group_by];
  const selected = q.select({ key, ...sums }).from(t);
  const joined =
    group_by === "client" || group_by === "product"
      ? selected.innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
      : selected;
  return joined.where(where).groupBy(key, currency, billingStartAt);
}

/** The names of what the ids of groups are of, deleted ones too. */
export async function listGroupNames(
  { q, scope }: ReadTx,
  group_by: Exclude<RevenueGroup, "kind">,
  ids: readonly number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const t = tableOf(q, group_by);
  const rows = await selectRows(q, t, {
    columns: { id: t.id, name: t.name },
    where: and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id))),
  });
  return new Map(rows.map(({ id, name }) => [id, name]));
}

function tableOf(q: Reads, group_by: Exclude<RevenueGroup, "kind">) {
  if (group_by === "client") return q.use(clientTable);
  if (group_by === "product") return q.use(productTable);
  return group_by === "billing_model" ? q.use(billingModelTable) : q.use(subscriptionTable);
}
