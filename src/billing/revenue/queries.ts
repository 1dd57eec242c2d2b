import { and, count, eq, gte, lt, type SQL } from "drizzle-orm";
import type { Bounds } from "../../core/periods.ts";
import type { Amounts } from "../../core/money.ts";
import { iso, type IsoInstant } from "../../core/time.ts";
import { amountsOf, filterOnly, idIn } from "../../store/expressions.ts";
import { selectRows } from "../../store/select_rows.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { productTable } from "../products/tables.ts";
import { recordSteps } from "../records/step_queries.ts";
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

/** What the company billed for periods that begin in `[from, to)`, by currency, start and group. */
export async function listBilled(
  tx: ReadTx,
  bounds: Bounds,
  group_by: RevenueGroup | undefined,
): Promise<Billed[]> {
  const { q, scope } = tx;
  const t = q.use(billingRecordTable);
  const begun = and(
    eq(t.company_id, scope.company_id),
    gte(t.billingStartAt, iso(bounds.from)),
    lt(t.billingStartAt, iso(bounds.to)),
  );
  const billed: Billed[] = [];
  for await (const step of recordSteps(tx, begun)) billed.push(...(await billedIn(tx, step, group_by)));
  return billed;
}

async function billedIn(
  { q }: ReadTx,
  where: SQL | undefined,
  group_by: RevenueGroup | undefined,
): Promise<Billed[]> {
  const t = q.use(billingRecordTable);
  const subscriptions = q.use(subscriptionTable);
  const { currency, billingStartAt } = t;
  const sums = { currency, billingStartAt, amounts: amountsOf(t.totalCharges), records: count() };
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
