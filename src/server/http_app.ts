import { type AnyElysia, Elysia } from "elysia";
import type { Deps } from "../app/deps.ts";
import { apiKeyRoutes, exchangeRoutes } from "../access/api_keys/routes.ts";
import { auditRoutes } from "../audit/routes.ts";
import { authorizationRoutes } from "../access/authorizations/routes.ts";
import { metadataRoutes, oauthRoutes } from "../access/oauth/routes.ts";
import { billingRecordRoutes, myBillingRoutes } from "../billing/records/routes.ts";
import {
  billingRunRoutes,
  myPreviewRoutes,
  previewRoutes,
  unbilledUsageRoutes,
} from "../billing/runs/routes.ts";
import {
  billingModelRoutes,
  billingTypeRoutes,
  myBillingModelRoutes,
} from "../billing/billing_models/routes.ts";
import { billingProfileRoutes } from "../billing/billing_profiles/routes.ts";
import { clientRoutes } from "../billing/clients/routes.ts";
import { collectionRoutes } from "../emandate/collections/routes.ts";
import { companyRoutes } from "../billing/companies/routes.ts";
import { emandateConfigRoutes } from "../emandate/merchant_config/routes.ts";
import { formRoutes, myFormRoutes } from "../forms/routes.ts";
import { emandateCustomerRoutes } from "../emandate/customers/routes.ts";
import { emandateProductRoutes } from "../emandate/products/routes.ts";
import { mandatePaymentRoutes } from "../emandate/payments/routes.ts";
import { eventRoutes } from "../webhooks/events/routes.ts";
import {
  billingModelChangeRoutes,
  myBillingModelChangeRoutes,
} from "../billing/billing_model_changes/routes.ts";
import { creditRoutes, myCreditRoutes } from "../billing/credits/routes.ts";
import { mandateFlagRoutes } from "../emandate/flags/routes.ts";
import { mandateDecisionRoutes, schemeRoutes, simulatorRoutes } from "../emandate/results/routes.ts";
import { mandateRoutes } from "../emandate/mandates/routes.ts";
import { agentApplicationRoutes, lenderApplicationRoutes } from "../loans/applications/routes.ts";
import { agentProgramRoutes, lenderProgramRoutes } from "../loans/programs/routes.ts";
import {
  agentConsentDefinitionRoutes,
  lenderConsentDefinitionRoutes,
} from "../loans/consent_definitions/routes.ts";
import { agentConsentRoutes, lenderConsentRoutes } from "../loans/consents/routes.ts";
import { agentDocumentRoutes, agentUploadRoutes, lenderDocumentRoutes } from "../loans/documents/routes.ts";
import { featureRoutes } from "../billing/features/routes.ts";
import { meterRoutes } from "../billing/meters/routes.ts";
import { productRoutes } from "../billing/products/routes.ts";
import { loginRoutes, logoutRoutes, profileRoutes } from "../access/sessions/routes.ts";
import { billingModelMigrationRoutes } from "../billing/billing_model_migrations/routes.ts";
import { addOnRoutes } from "../billing/add_ons/routes.ts";
import {
  mySubscriptionAddOnRoutes,
  subscriptionAddOnRoutes,
} from "../billing/subscription_add_ons/routes.ts";
import { simulationRoutes } from "../billing/simulations/routes.ts";
import { mySubscriptionRoutes, subscriptionRoutes } from "../billing/subscriptions/routes.ts";
import { personErasureRoutes } from "../people/routes.ts";
import { usageErasureRoutes } from "../usage/erasures/routes.ts";
import { exportLinkRoutes, myUsageExportRoutes, usageExportRoutes } from "../usage/export/routes.ts";
import { importRoutes } from "../usage/import/routes.ts";
import { ingestRoutes } from "../usage/ingest/routes.ts";
import { myUsageSearchRoutes, usageSearchRoutes } from "../usage/search/routes.ts";
import { userRoutes } from "../access/users/routes.ts";
import { lenderWebhookLogRoutes, webhookLogRoutes } from "../webhooks/deliveries/routes.ts";
import { webhookRoutes } from "../webhooks/endpoints/routes.ts";
import { checkRoutes } from "../entitlements/checks/routes.ts";
import { entitlementRoutes, myEntitlementRoutes } from "../entitlements/grants/routes.ts";
import { errorHandler } from "../http/error_handler.ts";
import { observeRequests } from "../http/observe_requests.ts";
import { documentation } from "../http/documentation.ts";
import { metrics } from "../http/metrics.ts";
import { probes } from "../http/probes.ts";
import { Readiness } from "../http/readiness.ts";
import { mcpEndpoint } from "../mcp/endpoint.ts";
import type { Actions } from "./operator/action.ts";
import { operatorHandler } from "./operator/handler.ts";
import { operatorRoutes } from "./operator/admission.ts";

/** Builds the HTTP interface over opened stores, with what the operator may ask for. It does not listen yet. */
export function buildApp(deps: Deps, actions: Actions = {}, readiness = new Readiness(deps)) {
  const app: AnyElysia = new Elysia({
    // Unknown fields are refused by the schemas, never dropped in silence.
    normalize: false,
    handler: { standardHostname: false },
  })
    .use(observeRequests(deps))
    .use(errorHandler(deps, () => app.routes))
    .use(probes(deps, readiness))
    .use(metrics(deps))
    .use(documentation(() => app))
    .use(operatorRoutes(deps, (request) => operatorHandler({ deps, actions, api: app })(request)))
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
        .use(billingProfileRoutes(deps))
        .use(productRoutes(deps))
        .use(meterRoutes(deps))
        .use(billingTypeRoutes(deps))
        .use(billingModelRoutes(deps))
        .use(myBillingModelRoutes(deps))
        .use(addOnRoutes(deps))
        .use(billingModelMigrationRoutes(deps))
        .use(subscriptionAddOnRoutes(deps))
        .use(mySubscriptionAddOnRoutes(deps))
        .use(simulationRoutes(deps))
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
        .use(limits(deps))
        .use(importRoutes(deps))
        .use(exportLinkRoutes(deps))
        .use(usageErasureRoutes(deps))
        .use(personErasureRoutes(deps))
        .use(usageExportRoutes(deps))
        .use(usageSearchRoutes(deps))
        .use(myUsageExportRoutes(deps))
        .use(myUsageSearchRoutes(deps))
        .use(eventRoutes(deps))
        .use(webhookRoutes(deps))
        .use(webhookLogRoutes(deps))
        .use(directDebit(deps))
        .use(loans(deps))
        .use(mcpEndpoint(deps, async () => (await import("./tools.ts")).TOOLS)),
    );
  return app;
}

/** What plans grant, and the checks of it. */
const limits = (deps: Deps) =>
  new Elysia()
    .use(featureRoutes(deps))
    .use(checkRoutes(deps))
    .use(entitlementRoutes(deps))
    .use(myEntitlementRoutes(deps));

/** Everything below /emandate. */
const directDebit = (deps: Deps) =>
  new Elysia()
    .use(emandateConfigRoutes(deps))
    .use(emandateProductRoutes(deps))
    .use(emandateCustomerRoutes(deps))
    .use(mandateRoutes(deps))
    .use(mandateDecisionRoutes(deps))
    .use(mandateFlagRoutes(deps))
    .use(mandatePaymentRoutes(deps))
    .use(collectionRoutes(deps))
    .use(simulatorRoutes(deps))
    .use(schemeRoutes(deps));

/** What lenders' and agents' machines do. */
const loans = (deps: Deps) =>
  new Elysia()
    .use(lenderProgramRoutes(deps))
    .use(lenderApplicationRoutes(deps))
    .use(lenderDocumentRoutes(deps))
    .use(lenderConsentDefinitionRoutes(deps))
    .use(lenderConsentRoutes(deps))
    .use(lenderWebhookLogRoutes(deps))
    .use(agentProgramRoutes(deps))
    .use(agentApplicationRoutes(deps))
    .use(agentDocumentRoutes(deps))
    .use(agentUploadRoutes(deps))
    .use(agentConsentDefinitionRoutes(deps))
    .use(agentConsentRoutes(deps));
