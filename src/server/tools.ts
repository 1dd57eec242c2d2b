import { TOOLSETS, type Toolset } from "../core/toolsets.ts";
import type { Tool, ToolInSet } from "../mcp/tool.ts";
import { billingTools } from "../billing/tools.ts";
import { billingModelTools } from "../billing/billing_models/tools.ts";
import { myRecordTools, recordTools } from "../billing/records/tools.ts";
import { runTools } from "../billing/runs/tools.ts";
import { clientTools } from "../billing/clients/tools.ts";
import { collectionTools } from "../emandate/collections/tools.ts";
import { myCreditTools } from "../billing/credits/tools.ts";
import { simulationTools } from "../billing/simulations/tools.ts";
import { checkTools } from "../entitlements/checks/tools.ts";
import { emandateConfigTools } from "../emandate/merchant_config/tools.ts";
import { emandateCustomerTools } from "../emandate/customers/tools.ts";
import { emandateProductTools } from "../emandate/products/tools.ts";
import { formTools, myFormTools } from "../forms/tools.ts";
import { loanApplicationTools } from "../loans/applications/tools.ts";
import { consentDefinitionTools } from "../loans/consent_definitions/tools.ts";
import { consentTools } from "../loans/consents/tools.ts";
import { loanDocumentTools } from "../loans/documents/tools.ts";
import { loanProgramTools } from "../loans/programs/tools.ts";
import { loanWebhookTools } from "../loans/webhook_tools.ts";
import { mandateFlagTools } from "../emandate/flags/tools.ts";
import { paymentTools } from "../emandate/payments/tools.ts";
import { mandateTools } from "../emandate/mandates/tools.ts";
import { migrationTools } from "../billing/billing_model_migrations/tools.ts";
import { figureTools } from "../overview/tools.ts";
import { changePreviewTools } from "../billing/previews/tools.ts";
import { planChangeTools } from "../billing/billing_model_changes/tools.ts";
import { catalogTools } from "../billing/catalog_tools.ts";
import { meterTools } from "../billing/meters/tools.ts";
import { scenarioTools } from "../emandate/results/tools.ts";
import { mySubscriptionTools, subscriptionTools } from "../billing/subscriptions/tools.ts";
import { myUsageTools, usageTools } from "../usage/tools.ts";
import { deliveryTools } from "../webhooks/deliveries/tools.ts";

/** The tools that users grant together. */
const BY_TOOLSET: Record<Toolset, readonly Tool[]> = {
  billing: [
    ...clientTools,
    ...catalogTools,
    ...billingModelTools,
    ...billingTools,
    ...subscriptionTools,
    ...changePreviewTools,
    ...planChangeTools,
    ...figureTools,
    ...migrationTools,
    ...recordTools,
    ...runTools,
    ...simulationTools,
    ...formTools,
    ...mySubscriptionTools,
    ...myCreditTools,
    ...myRecordTools,
    ...myFormTools,
  ],
  usage: [...usageTools, ...meterTools, ...checkTools, ...myUsageTools],
  debits: [
    ...emandateConfigTools,
    ...emandateProductTools,
    ...emandateCustomerTools,
    ...mandateTools,
    ...paymentTools,
    ...collectionTools,
    ...scenarioTools,
    ...mandateFlagTools,
  ],
  loans: [
    ...loanApplicationTools,
    ...loanDocumentTools,
    ...consentTools,
    ...loanProgramTools,
    ...consentDefinitionTools,
  ],
  webhooks: [...deliveryTools, ...loanWebhookTools],
};

/** Every tool, in the order in which they are listed. */
export const TOOLS: readonly ToolInSet[] = TOOLSETS.flatMap((toolset) =>
  BY_TOOLSET[toolset].map((tool) => ({ ...tool, toolset })),
);
