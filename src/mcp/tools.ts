import type { Tool } from "./tool.ts";
import { billingTools } from "./tools/billing.ts";
import { billingModelTools } from "./tools/billing_models.ts";
import { myRecordTools, recordTools } from "./tools/billing_records.ts";
import { runTools } from "./tools/billing_runs.ts";
import { clientTools } from "./tools/clients.ts";
import { collectionTools } from "./tools/collections.ts";
import { creditTools, myCreditTools } from "./tools/credits.ts";
import { emandateConfigTools } from "./tools/emandate_config.ts";
import { emandateCustomerTools } from "./tools/emandate_customers.ts";
import { emandateProductTools } from "./tools/emandate_products.ts";
import { formTools, myFormTools } from "./tools/forms.ts";
import { loanApplicationTools } from "./tools/loan_applications.ts";
import { consentDefinitionTools, consentTools } from "./tools/loan_consents.ts";
import { loanDocumentTools } from "./tools/loan_documents.ts";
import { loanProgramTools } from "./tools/loan_programs.ts";
import { loanWebhookTools } from "./tools/loan_webhooks.ts";
import { mandateFlagTools } from "./tools/mandate_flags.ts";
import { paymentTools } from "./tools/mandate_payments.ts";
import { mandateTools } from "./tools/mandates.ts";
import { planChangeTools } from "./tools/plan_changes.ts";
import { productTools } from "./tools/products.ts";
import { scenarioTools } from "./tools/scenarios.ts";
import { mySubscriptionTools, subscriptionTools } from "./tools/subscriptions.ts";
import { myUsageTools, usageTools } from "./tools/usage.ts";
import { deliveryTools } from "./tools/webhook_deliveries.ts";

/** Every tool, in the order in which they are listed. */
export const TOOLS: readonly Tool[] = [
  ...clientTools,
  ...productTools,
  ...billingModelTools,
  ...billingTools,
  ...subscriptionTools,
  ...planChangeTools,
  ...creditTools,
  ...usageTools,
  ...recordTools,
  ...runTools,
  ...deliveryTools,
  ...formTools,
  ...emandateConfigTools,
  ...emandateProductTools,
  ...emandateCustomerTools,
  ...mandateTools,
  ...paymentTools,
  ...collectionTools,
  ...scenarioTools,
  ...mandateFlagTools,
  ...loanApplicationTools,
  ...loanDocumentTools,
  ...consentTools,
  ...loanProgramTools,
  ...consentDefinitionTools,
  ...loanWebhookTools,
  ...mySubscriptionTools,
  ...myCreditTools,
  ...myUsageTools,
  ...myRecordTools,
  ...myFormTools,
];
