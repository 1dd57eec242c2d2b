import type { ColumnKit, TableDefinition } from "../store/columns.ts";
import type { Constraints } from "../store/constraints.ts";
import { API_KEY_CONSTRAINTS, apiKeyTable } from "../access/api_keys/tables.ts";
import { auditLogTable } from "../audit/tables.ts";
import { backupVerificationTable } from "../backup/verify/tables.ts";
import { authorizationRequestTable, authorizationTokenTable } from "../access/oauth/tables.ts";
import { authorizationTable, oauthClientTable } from "../access/authorizations/tables.ts";
import { BILLING_CONSTRAINTS, billingRecordTable } from "../billing/records/tables.ts";
import { billingRunTable, unbilledUsageCheckTable, unbilledUsageTable } from "../billing/runs/tables.ts";
import {
  BILLING_MODEL_CHANGE_CONSTRAINTS,
  billingModelChangeTable,
} from "../billing/billing_model_changes/tables.ts";
import { ADD_ON_CONSTRAINTS, addOnTable } from "../billing/add_ons/tables.ts";
import { subscriptionAddOnTable } from "../billing/subscription_add_ons/tables.ts";
import { billingModelMigrationTable } from "../billing/billing_model_migrations/tables.ts";
import { BILLING_MODEL_CONSTRAINTS, billingModelTable } from "../billing/billing_models/tables.ts";
import { billingProfileTable } from "../billing/billing_profiles/tables.ts";
import { clientTable } from "../tenancy/clients/tables.ts";
import { COLLECTION_CONSTRAINTS, collectionRunTable } from "../emandate/collections/tables.ts";
import { companyTable, companyTimezoneTable } from "../tenancy/companies/tables.ts";
import { creditThresholdTable } from "../billing/credits/tables.ts";
import {
  EMANDATE_CONFIG_CONSTRAINTS,
  emandateBankListTable,
  emandateConfigTable,
} from "../emandate/merchant_config/tables.ts";
import { emandateCustomerTable } from "../emandate/customers/tables.ts";
import { EMANDATE_PRODUCT_CONSTRAINTS, emandateProductTable } from "../emandate/products/tables.ts";
import { eventTable } from "../webhooks/events/tables.ts";
import {
  FEATURE_CONSTRAINTS,
  featureTable,
  subscriptionEntitlementTable,
} from "../billing/features/tables.ts";
import { formTable } from "../forms/tables.ts";
import { idempotencyKeyTable } from "../idempotency/tables.ts";
import { LOAN_APPLICATION_CONSTRAINTS, loanApplicationTable } from "../loans/applications/tables.ts";
import {
  CONSENT_DEFINITION_CONSTRAINTS,
  consentDefinitionTable,
} from "../loans/consent_definitions/tables.ts";
import { CONSENT_CONSTRAINTS, consentTable } from "../loans/consents/tables.ts";
import { LOAN_DOCUMENT_CONSTRAINTS, loanDocumentTable } from "../loans/documents/tables.ts";
import { LOAN_PROGRAM_CONSTRAINTS, loanProgramTable } from "../loans/programs/tables.ts";
import { debitHoldTable } from "../emandate/holds/tables.ts";
import { instanceTable } from "./instances/tables.ts";
import { jobRunTable } from "./job_runs/tables.ts";
import { mandateFlagTable } from "../emandate/flags/tables.ts";
import { mandateOrderTable } from "../emandate/orders/tables.ts";
import { mandatePaymentTable } from "../emandate/payments/tables.ts";
import { mandateEventTable, mandateTable } from "../emandate/mandates/tables.ts";
import { METER_CONSTRAINTS, meterTable } from "../billing/meters/tables.ts";
import { personErasureTable } from "../people/tables.ts";
import { simulationRowTable, simulationTable } from "../billing/simulations/tables.ts";
import { runningBillTable } from "../billing/running_bills/tables.ts";
import { productTable } from "../billing/products/tables.ts";
import { browserSessionTable } from "../access/browser_sessions/tables.ts";
import { userLinkTable } from "../access/user_links/tables.ts";
import { endedTokenTable, signInCountTable } from "../access/sessions/tables.ts";
import { SUBSCRIPTION_CONSTRAINTS, subscriptionTable } from "../billing/subscriptions/tables.ts";
import { usageErasedIdsTable, usageErasureTable } from "../usage/erasures/tables.ts";
import { usageRetentionTable } from "../usage/retention/tables.ts";
import { usageImportTable } from "../usage/import/tables.ts";
import { usageUploadRejectionTable, usageUploadTable } from "../usage/uploads/tables.ts";
import { usageViewTable } from "../usage/views/tables.ts";
import { usageLaneTable } from "../usage/lanes/tables.ts";
import { usageLinkTable } from "../usage/store_link/tables.ts";
import { USER_CONSTRAINTS, userTable } from "../access/users/tables.ts";
import { webhookLogTable } from "../webhooks/deliveries/tables.ts";
import { webhookTable } from "../webhooks/endpoints/tables.ts";
import { reservationTable } from "../entitlements/reservations/tables.ts";
import { alertTable } from "../billing/features/alert_tables.ts";
import { alertFiringTable } from "../entitlements/alerts/tables.ts";
import { spendLimitTable } from "../entitlements/spend_limits/tables.ts";
import { schemeCallbackTable } from "../emandate/results/tables.ts";

/** Every table of Meterhouse by its name in the database. */
export const TABLES = {
  companies: companyTable,
  company_timezones: companyTimezoneTable,
  clients: clientTable,
  users: userTable,
  products: productTable,
  meters: meterTable,
  billing_models: billingModelTable,
  subscriptions: subscriptionTable,
  features: featureTable,
  subscription_entitlements: subscriptionEntitlementTable,
  spend_limits: spendLimitTable,
  usage_reservations: reservationTable,
  alerts: alertTable,
  alert_firings: alertFiringTable,
  add_ons: addOnTable,
  subscription_add_ons: subscriptionAddOnTable,
  client_billing_profiles: billingProfileTable,
  billing_model_changes: billingModelChangeTable,
  billing_model_migrations: billingModelMigrationTable,
  credit_thresholds: creditThresholdTable,
  simulations: simulationTable,
  simulation_rows: simulationRowTable,
  billing_runs: billingRunTable,
  unbilled_usage: unbilledUsageTable,
  unbilled_usage_checks: unbilledUsageCheckTable,
  billing_records: billingRecordTable,
  running_bills: runningBillTable,
  usage_imports: usageImportTable,
  usage_uploads: usageUploadTable,
  usage_upload_rejections: usageUploadRejectionTable,
  usage_views: usageViewTable,
  usage_erasures: usageErasureTable,
  usage_erased_ids: usageErasedIdsTable,
  usage_retentions: usageRetentionTable,
  person_erasures: personErasureTable,
  usage_link: usageLinkTable,
  usage_lanes: usageLaneTable,
  forms: formTable,
  events: eventTable,
  audit_log: auditLogTable,
  agents: oauthClientTable,
  authorization_requests: authorizationRequestTable,
  authorizations: authorizationTable,
  authorization_tokens: authorizationTokenTable,
  api_keys: apiKeyTable,
  ended_tokens: endedTokenTable,
  sign_in_counts: signInCountTable,
  browser_sessions: browserSessionTable,
  user_links: userLinkTable,
  idempotency_keys: idempotencyKeyTable,
  webhooks: webhookTable,
  webhook_logs: webhookLogTable,
  emandate_configs: emandateConfigTable,
  emandate_bank_lists: emandateBankListTable,
  emandate_products: emandateProductTable,
  emandate_customers: emandateCustomerTable,
  mandates: mandateTable,
  mandate_events: mandateEventTable,
  mandate_payments: mandatePaymentTable,
  collection_runs: collectionRunTable,
  mandate_orders: mandateOrderTable,
  job_runs: jobRunTable,
  backup_verifications: backupVerificationTable,
  instances: instanceTable,
  mandate_flags: mandateFlagTable,
  scheme_callbacks: schemeCallbackTable,
  debit_holds: debitHoldTable,
  loan_programs: loanProgramTable,
  loan_applications: loanApplicationTable,
  loan_documents: loanDocumentTable,
  consent_definitions: consentDefinitionTable,
  consents: consentTable,
} satisfies Record<string, TableDefinition<unknown>>;

type Tables = { [Name in keyof typeof TABLES]: ReturnType<(typeof TABLES)[Name]> };

/** Every table in one dialect. */
export function defineTables(k: ColumnKit): Tables {
  const tables = Object.entries(TABLES).map(([name, table]) => [name, k.use<unknown>(table)]);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- fromEntries forgets the names
  return Object.fromEntries(tables) as Tables;
}

/** What breaking a named constraint means to the caller. */
export const CONSTRAINTS: Constraints = {
  ...API_KEY_CONSTRAINTS,
  ...USER_CONSTRAINTS,
  ...METER_CONSTRAINTS,
  ...FEATURE_CONSTRAINTS,
  ...BILLING_MODEL_CONSTRAINTS,
  ...ADD_ON_CONSTRAINTS,
  ...SUBSCRIPTION_CONSTRAINTS,
  ...BILLING_CONSTRAINTS,
  ...BILLING_MODEL_CHANGE_CONSTRAINTS,
  ...EMANDATE_CONFIG_CONSTRAINTS,
  ...EMANDATE_PRODUCT_CONSTRAINTS,
  ...COLLECTION_CONSTRAINTS,
  ...LOAN_PROGRAM_CONSTRAINTS,
  ...LOAN_APPLICATION_CONSTRAINTS,
  ...LOAN_DOCUMENT_CONSTRAINTS,
  ...CONSENT_DEFINITION_CONSTRAINTS,
  ...CONSENT_CONSTRAINTS,
};
