import type { Actor } from "../core/access.ts";
import { sees, type Tool } from "./tool.ts";
import { billingTools } from "./tools/billing.ts";
import { catalogTools } from "./tools/catalog.ts";
import { emandateCatalogTools } from "./tools/emandate_catalog.ts";
import { emandateMandateTools } from "./tools/emandate_mandates.ts";
import { emandatePaymentTools } from "./tools/emandate_payments.ts";
import { myTools } from "./tools/mine.ts";
import { otherTools } from "./tools/others.ts";
import { subscriptionTools } from "./tools/subscriptions.ts";
import { usageTools } from "./tools/usage.ts";

/** Every tool, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  ...catalogTools,
  ...subscriptionTools,
  ...usageTools,
  ...billingTools,
  ...otherTools,
  ...emandateCatalogTools,
  ...emandateMandateTools,
  ...emandatePaymentTools,
  ...myTools,
];

const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));

/** The tools that an actor sees. */
export function toolsFor(actor: Actor): Tool[] {
  return TOOLS.filter((tool) => sees(actor, tool));
}

/** The tool of this name, if the actor sees it: one that is hidden is as good as none. */
export function findTool(actor: Actor, name: string): Tool | undefined {
  const found = byName.get(name);
  return found && sees(actor, found) ? found : undefined;
}
