import type { ReadTx } from "../../store/store.ts";
import { listAllAlerts } from "../alerts/queries.ts";
import { listSubscriptionsIn } from "../alerts/scope_queries.ts";
import { listSpendLimited } from "./queries.ts";

/** The subscriptions whose running charges are rated: those with a spend limit, and those of alerts on charges. */
export async function listRated(tx: ReadTx): Promise<number[]> {
  const alerts = (await listAllAlerts(tx)).filter(({ on }) => on === "spend" || on === "forecast");
  const limited = await listSpendLimited(tx);
  if (alerts.length === 0) return limited;
  const alerted = await listSubscriptionsIn(
    tx,
    alerts.map(({ scope }) => scope),
  );
  return [...new Set([...limited, ...alerted])];
}
