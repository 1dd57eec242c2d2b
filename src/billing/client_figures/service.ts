import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { sumAmounts } from "../../core/money.ts";
import { iso } from "../../core/time.ts";
import { currentZone } from "../../core/windows.ts";
import { listZones } from "../../tenancy/companies/queries.ts";
import { LIMITS } from "../limits.ts";
import { listRunning, type Running } from "../running_bills/queries.ts";
import { ClientFigures, ListClientFigures } from "./model.ts";
import * as queries from "./queries.ts";

/**
 * Lists what clients come to: running periods, last bills, and the usage of thirty days. Those that the company does not
 * have are left out. Errors: unavailable past the time limit. Decision 0293.
 */
export const listClientFigures = operation({
  name: "list_client_figures",
  permission: "revenue:read",
  input: ListClientFigures,
  output: Type.Object({ data: Type.Array(ClientFigures) }),
  async run(ctx, { ids: text }) {
    const tx = readTx(ctx);
    const ids = await queries.listKnown(tx, text.split(",").map(Number));
    const [active, running, bills, usage] = await Promise.all([
      queries.countActive(tx, ids),
      listRunning(tx, "client", ids),
      queries.listLastBills(tx, ids),
      usageOf(ctx, ids),
    ]);
    const running_of = Map.groupBy(running, ({ key }) => key);
    const data = ids.map((client_id) => ({
      client_id,
      active_subscriptions: active.get(client_id) ?? 0,
      ...runningOf(running_of.get(client_id) ?? []),
      last_bill: bills.get(client_id) ?? null,
      usage: { ...usage.bounds, units: usage.unitsOf(client_id) },
    }));
    return { data };
  },
});

function runningOf(rows: readonly Running[]): Pick<ClientFigures, "running" | "running_as_of"> {
  const running = rows
    .map(({ currency, amounts, subscriptions }) => ({
      currency,
      amount: sumAmounts([amounts], currency),
      subscriptions,
    }))
    .toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
  const as_of = rows.flatMap((row) => row.as_of ?? []).toSorted();
  return { running, running_as_of: as_of[0] ?? null };
}

/** The units of each day, by client. */
async function usageOf(ctx: Context, client_ids: readonly number[]) {
  const tx = readTx(ctx);
  const [zones, labels] = await Promise.all([listZones(tx), queries.mapSubscriptions(tx, client_ids)]);
  const zone = currentZone(zones);
  const today = ctx.now.toZonedDateTimeISO(zone).toPlainDate();
  const edges = Array.from({ length: LIMITS.client_usage_days + 1 }, (_, i) =>
    today
      .subtract({ days: LIMITS.client_usage_days - 1 - i })
      .toZonedDateTime(zone)
      .toInstant(),
  );
  const found = await ctx.usage.series(
    {
      company_id: tx.scope.company_id,
      subscription_ids: [...labels.keys()],
      edges: edges.map(({ epochMilliseconds }) => epochMilliseconds),
      group_by: [{ by: "subscription", labels }],
      measure: "units",
      top: client_ids.length,
      max_key_length: 1,
    },
    { timeout_ms: ctx.config.usage_query_timeout_ms, signal: ctx.stop() },
  );
  const lines = new Map(found.groups.map(({ keys: [key], buckets }) => [key, buckets]));
  const [from, to] = [edges[0] ?? ctx.now, edges.at(-1) ?? ctx.now];
  return {
    bounds: { from: iso(from), to: iso(to) },
    unitsOf: (client_id: number) =>
      Array.from({ length: LIMITS.client_usage_days }, (_, i) => Number(lines.get(client_id)?.get(i) ?? 0)),
  };
}
