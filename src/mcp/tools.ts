import { sees, type Tool, type Viewer } from "./tool.ts";
import { billingTools } from "./tools/billing.ts";
import { catalogTools } from "./tools/catalog.ts";
import { emandateCatalogTools } from "./tools/emandate_catalog.ts";
import { emandateFlagTools } from "./tools/emandate_flags.ts";
import { emandateMandateTools } from "./tools/emandate_mandates.ts";
import { emandatePaymentTools } from "./tools/emandate_payments.ts";
import { loanApplicationTools } from "./tools/loan_applications.ts";
import { loanEvidenceTools } from "./tools/loan_evidence.ts";
import { loanProgramTools } from "./tools/loan_programs.ts";
import { loanWebhookTools } from "./tools/loan_webhooks.ts";
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
  ...emandateFlagTools,
  ...loanApplicationTools,
  ...loanEvidenceTools,
  ...loanProgramTools,
  ...loanWebhookTools,
  ...myTools,
];

const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));

/** The tools that are to be seen. */
export function toolsFor(viewer: Viewer): Tool[] {
  return TOOLS.filter((tool) => sees(viewer, tool));
}

/** The tool of this name, if it is to be seen: one that is hidden is as good as none. */
export function findTool(viewer: Viewer, name: string): Tool | undefined {
  const found = byName.get(name);
  return found && sees(viewer, found) ? found : undefined;
}
