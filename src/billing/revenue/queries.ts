import { and, count, eq, gte, lt, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Bounds } from "../../core/periods.ts";
import type { Amounts } from "../../core/money.ts";
import { instant, iso, type IsoInstant } from "../../core/time.ts";
import { amountParts, filterOnly, idIn, listOfValues, readAmounts } from "../../store/expressions.ts";
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

/** By column: a row for each of many groups takes as long as adding them up. */
async function billedIn(
  { q }: ReadTx,
  where: SQL | undefined,
  group_by: RevenueGroup | undefined,
): Promise<Billed[]> {
  const t = q.use(billingRecordTable);
  const subscriptions = q.use(subscriptionTable);
  const keys = {
    client: subscriptions.client_id,
    product: subscriptions.product_id,
    billing_model: t.billing_model_id,
    subscription: t.subscription_id,
    kind: t.kind,
  };
  // In the order of the index, which then needs no sorting.
  const groups = [t.billingStartAt, t.currency, ...(group_by === undefined ? [] : [keys[group_by]])];
  const { minor_units, large } = amountParts(t.totalCharges);
  const selected = q
    .select({
      key: sql<Billed["key"]>`${group_by === undefined ? sql`NULL` : keys[group_by]}`.as("key"),
      currency: t.currency,
      at: sql<string>`${t.billingStartAt}`.as("at"),
      minor_units: minor_units.as("minor_units"),
      large: large.as("large"),
      records: count().as("records"),
    })
    .from(t);
  const joined =
    group_by === "client" || group_by === "product"
      ? selected.innerJoin(subscriptions, eq(subscriptions.id, t.subscription_id))
      : selected;
  const grouped = joined
    .where(where)
    .groupBy(...groups)
    .as("grouped");
  const list = <T>(value: SQLWrapper) => listOfValues<T>(value, t.id);
  const [lists] = await q
    .select({
      keys: list<Billed["key"]>(grouped.key),
      currencies: list<string>(grouped.currency),
      starts: list<string>(grouped.at),
      minor_units: list<string>(grouped.minor_units),
      large: list<string | null>(grouped.large),
      records: list<number>(grouped.records),
    })
    .from(grouped);
  const starts = new Map([...new Set(lists?.starts)].map((at) => [at, iso(instant(at))]));
  return (lists?.keys ?? []).map((key, i): Billed => {
    const at = lists?.starts?.[i] ?? "";
    return {
      key,
      currency: lists?.currencies?.[i] ?? "",
      billingStartAt: starts.get(at) ?? iso(instant(at)),
      amounts: readAmounts(lists?.minor_units?.[i] ?? null, lists?.large?.[i] ?? null),
      records: lists?.records?.[i] ?? 0,
    };
  });
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
