import type { AppError } from "../core/errors.ts";
import { API_KEY_CONSTRAINTS, apiKeyTables } from "../features/api_keys/tables.ts";
import { auditTables } from "../features/audit/tables.ts";
import { agentTables, authorizationTables } from "../features/authorizations/tables.ts";
import { BILLING_CONSTRAINTS, billingTables, unbilledUsageTables } from "../features/billing/tables.ts";
import {
  BILLING_MODEL_CHANGE_CONSTRAINTS,
  billingModelChangeTables,
} from "../features/billing_model_changes/tables.ts";
import { billingModelTables } from "../features/billing_models/tables.ts";
import { clientTables } from "../features/clients/tables.ts";
import { COLLECTION_CONSTRAINTS, collectionTables } from "../features/collections/tables.ts";
import { companyTables } from "../features/companies/tables.ts";
import { creditTables } from "../features/credits/tables.ts";
import { EMANDATE_CONFIG_CONSTRAINTS, emandateConfigTables } from "../features/emandate_config/tables.ts";
import { emandateCustomerTables } from "../features/emandate_customers/tables.ts";
import { EMANDATE_PRODUCT_CONSTRAINTS, emandateProductTables } from "../features/emandate_products/tables.ts";
import { eventTables } from "../features/events/tables.ts";
import { formTables } from "../features/forms/tables.ts";
import { idempotencyTables } from "../features/idempotency/tables.ts";
import { mandateFlagTables } from "../features/mandate_flags/tables.ts";
import { mandateOrderTables } from "../features/mandate_orders/tables.ts";
import { mandatePaymentTables } from "../features/mandate_payments/tables.ts";
import { LOAN_APPLICATION_CONSTRAINTS, loanApplicationTables } from "../features/loan_applications/tables.ts";
import {
  consentDefinitionTables,
  consentTables,
  LOAN_CONSENT_CONSTRAINTS,
} from "../features/loan_consents/tables.ts";
import { LOAN_DOCUMENT_CONSTRAINTS, loanDocumentTables } from "../features/loan_documents/tables.ts";
import { LOAN_PROGRAM_CONSTRAINTS, loanProgramTables } from "../features/loan_programs/tables.ts";
import { mandateEventTables, mandateTables } from "../features/mandates/tables.ts";
import { productTables } from "../features/products/tables.ts";
import { sessionTables } from "../features/sessions/tables.ts";
import { SUBSCRIPTION_CONSTRAINTS, subscriptionTables } from "../features/subscriptions/tables.ts";
import { USER_CONSTRAINTS, userTables } from "../features/users/tables.ts";
import { usageTables } from "../features/usage/tables.ts";
import { webhookLogTables } from "../features/webhook_logs/tables.ts";
import { webhookTables } from "../features/webhooks/tables.ts";
import type { ColumnKit } from "./columns.ts";

/** Every table of the house in one dialect. Later ones refer to earlier ones. */
export function defineTables(k: ColumnKit) {
  const companies = companyTables(k);
  const clients = clientTables(k, companies);
  const users = userTables(k, { ...companies, ...clients });
  const products = productTables(k, companies);
  const billing_models = billingModelTables(k, companies);
  const subscriptions = subscriptionTables(k, { ...companies, ...clients, ...products, ...billing_models });
  const changes = billingModelChangeTables(k, { ...companies, ...subscriptions, ...billing_models });
  const credits = creditTables(k, { ...companies, ...subscriptions });
  const billing = billingTables(k, { ...companies, ...subscriptions, ...billing_models });
  const unbilled = unbilledUsageTables(k, { ...companies, ...subscriptions });
  const forms = formTables(k, { ...companies, ...clients });
  const events = eventTables(k, companies);
  const webhooks = webhookTables(k, companies);
  const webhook_logs = webhookLogTables(k, { ...companies, ...webhooks });
  const agents = agentTables(k);
  const emandate_products = emandateProductTables(k, companies);
  const emandate_customers = emandateCustomerTables(k, companies);
  const mandates = mandateTables(k, { ...companies, ...emandate_customers, ...emandate_products });
  const mandate_payments = mandatePaymentTables(k, { ...companies, ...mandates });
  const collections = collectionTables(k, companies);
  const mandate_orders = mandateOrderTables(k, {
    ...companies,
    ...mandates,
    ...mandate_payments,
    ...collections,
  });
  const api_keys = apiKeyTables(k, companies);
  const loan_programs = loanProgramTables(k, { ...companies, ...forms });
  const loan_applications = loanApplicationTables(k, { ...companies, ...api_keys, ...loan_programs });
  const consent_definitions = consentDefinitionTables(k, companies);
  return {
    ...companies,
    ...clients,
    ...users,
    ...products,
    ...billing_models,
    ...subscriptions,
    ...changes,
    ...credits,
    ...billing,
    ...usageTables(k, companies),
    ...unbilled,
    ...forms,
    ...events,
    ...auditTables(k, companies),
    ...sessionTables(k),
    ...agents,
    ...authorizationTables(k, { ...companies, ...agents }),
    ...api_keys,
    ...idempotencyTables(k, companies),
    ...webhooks,
    ...webhook_logs,
    ...emandateConfigTables(k, companies),
    ...emandate_products,
    ...emandate_customers,
    ...mandates,
    ...mandateEventTables(k, { ...companies, ...mandates }),
    ...mandate_payments,
    ...collections,
    ...mandate_orders,
    ...mandateFlagTables(k, { ...companies, ...mandates, ...mandate_payments, ...mandate_orders }),
    ...loan_programs,
    ...loan_applications,
    ...loanDocumentTables(k, { ...companies, ...loan_applications }),
    ...consent_definitions,
    ...consentTables(k, { ...companies, ...loan_applications, ...consent_definitions }),
  };
}

export type Tables = ReturnType<typeof defineTables>;

/** What breaking a named constraint means to the caller. */
export const CONSTRAINTS: Record<string, () => AppError> = {
  ...API_KEY_CONSTRAINTS,
  ...USER_CONSTRAINTS,
  ...SUBSCRIPTION_CONSTRAINTS,
  ...BILLING_CONSTRAINTS,
  ...BILLING_MODEL_CHANGE_CONSTRAINTS,
  ...EMANDATE_CONFIG_CONSTRAINTS,
  ...EMANDATE_PRODUCT_CONSTRAINTS,
  ...COLLECTION_CONSTRAINTS,
  ...LOAN_PROGRAM_CONSTRAINTS,
  ...LOAN_APPLICATION_CONSTRAINTS,
  ...LOAN_DOCUMENT_CONSTRAINTS,
  ...LOAN_CONSENT_CONSTRAINTS,
};
