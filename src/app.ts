import { type AnyElysia, Elysia } from "elysia";
import type { Deps } from "./app/deps.ts";
import { apiKeyRoutes, exchangeRoutes } from "./features/api_keys/routes.ts";
import { auditRoutes } from "./features/audit/routes.ts";
import { authorizationRoutes, metadataRoutes, oauthRoutes } from "./features/authorizations/routes.ts";
import {
  billingRecordRoutes,
  billingRunRoutes,
  unbilledUsageRoutes,
  myBillingRoutes,
  myPreviewRoutes,
  previewRoutes,
} from "./features/billing/routes.ts";
import { billingModelRoutes, billingTypeRoutes } from "./features/billing_models/routes.ts";
import { clientRoutes } from "./features/clients/routes.ts";
import { collectionResultRoutes, collectionRoutes } from "./features/collections/routes.ts";
import { companyRoutes } from "./features/companies/routes.ts";
import { emandateConfigRoutes } from "./features/emandate_config/routes.ts";
import { formRoutes, myFormRoutes } from "./features/forms/routes.ts";
import { emandateCustomerRoutes } from "./features/emandate_customers/routes.ts";
import { emandateProductRoutes } from "./features/emandate_products/routes.ts";
import { mandateDebitRoutes, mandatePaymentRoutes } from "./features/mandate_payments/routes.ts";
import { eventRoutes } from "./features/events/routes.ts";
import {
  billingModelChangeRoutes,
  myBillingModelChangeRoutes,
} from "./features/billing_model_changes/routes.ts";
import { creditRoutes, myCreditRoutes } from "./features/credits/routes.ts";
import { mandateFlagRoutes } from "./features/mandate_flags/routes.ts";
import { mandateDecisionRoutes, schemeRoutes, simulatorRoutes } from "./features/mandate_orders/routes.ts";
import { mandateRoutes } from "./features/mandates/routes.ts";
import { agentApplicationRoutes, lenderApplicationRoutes } from "./features/loan_applications/routes.ts";
import { agentProgramRoutes, lenderProgramRoutes } from "./features/loan_programs/routes.ts";
import {
  agentConsentRoutes,
  consentDefinitionRoutes,
  lenderConsentRoutes,
} from "./features/loan_consents/routes.ts";
import {
  agentDocumentRoutes,
  agentUploadRoutes,
  lenderDocumentRoutes,
} from "./features/loan_documents/routes.ts";
import { productRoutes } from "./features/products/routes.ts";
import { loginRoutes, logoutRoutes, profileRoutes } from "./features/sessions/routes.ts";
import { mySubscriptionRoutes, subscriptionRoutes } from "./features/subscriptions/routes.ts";
import { exportLinkRoutes, ingestRoutes, myUsageRoutes, usageRoutes } from "./features/usage/routes.ts";
import { userRoutes } from "./features/users/routes.ts";
import { lenderWebhookLogRoutes, webhookLogRoutes } from "./features/webhook_logs/routes.ts";
import { webhookRoutes } from "./features/webhooks/routes.ts";
import { failures } from "./http/failures.ts";
import { documentation } from "./http/openapi.ts";
import { metrics } from "./http/metrics.ts";
import { probes } from "./http/probes.ts";
import { mcpEndpoint } from "./mcp/endpoint.ts";
import { TOOLS } from "./mcp/tools.ts";

/** Builds the HTTP interface over opened stores. It does not listen yet. */
export function buildApp(deps: Deps) {
  const app: AnyElysia = new Elysia({
    // Unknown fields are refused by the schemas, never dropped in silence.
    normalize: false,
    handler: { standardHostname: false },
  })
    .use(failures(deps, () => app.routes))
    .use(probes(deps))
    .use(metrics(deps))
    .use(documentation(() => app))
    .use(metadataRoutes(deps))
    .use(oauthRoutes(deps))
    .group("/api/v1", (api) =>
      api
        .use(loginRoutes(deps))
        .use(logoutRoutes(deps))
        .use(exchangeRoutes(deps))
        .use(profileRoutes(deps))
        .use(authorizationRoutes(deps))
        .use(companyRoutes(deps))
        .use(userRoutes(deps))
        .use(apiKeyRoutes(deps))
        .use(auditRoutes(deps))
        .use(clientRoutes(deps))
        .use(productRoutes(deps))
        .use(billingTypeRoutes(deps))
        .use(billingModelRoutes(deps))
        .use(subscriptionRoutes(deps))
        .use(billingModelChangeRoutes(deps))
        .use(creditRoutes(deps))
        .use(mySubscriptionRoutes(deps))
        .use(myBillingModelChangeRoutes(deps))
        .use(myCreditRoutes(deps))
        .use(billingRunRoutes(deps))
        .use(unbilledUsageRoutes(deps))
        .use(billingRecordRoutes(deps))
        .use(myBillingRoutes(deps))
        .use(previewRoutes(deps))
        .use(myPreviewRoutes(deps))
        .use(formRoutes(deps))
        .use(myFormRoutes(deps))
        .use(ingestRoutes(deps))
        .use(exportLinkRoutes(deps))
        .use(usageRoutes(deps))
        .use(myUsageRoutes(deps))
        .use(eventRoutes(deps))
        .use(webhookRoutes(deps))
        .use(webhookLogRoutes(deps))
        .use(directDebit(deps))
        .use(loans(deps))
        .use(mcpEndpoint(deps, TOOLS)),
    );
  return app;
}

/** Everything below /emandate. */
const directDebit = (deps: Deps) =>
  new Elysia()
    .use(emandateConfigRoutes(deps))
    .use(emandateProductRoutes(deps))
    .use(emandateCustomerRoutes(deps))
    .use(mandateRoutes(deps))
    .use(mandateDecisionRoutes(deps))
    .use(mandateFlagRoutes(deps))
    .use(mandateDebitRoutes(deps))
    .use(mandatePaymentRoutes(deps))
    .use(collectionRoutes(deps))
    .use(collectionResultRoutes(deps))
    .use(simulatorRoutes(deps))
    .use(schemeRoutes(deps));

/** What lenders' and agents' machines do. */
const loans = (deps: Deps) =>
  new Elysia()
    .use(lenderProgramRoutes(deps))
    .use(lenderApplicationRoutes(deps))
    .use(lenderDocumentRoutes(deps))
    .use(consentDefinitionRoutes(deps))
    .use(lenderConsentRoutes(deps))
    .use(lenderWebhookLogRoutes(deps))
    .use(agentProgramRoutes(deps))
    .use(agentApplicationRoutes(deps))
    .use(agentDocumentRoutes(deps))
    .use(agentUploadRoutes(deps))
    .use(agentConsentRoutes(deps));
