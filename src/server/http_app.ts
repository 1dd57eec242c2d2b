import { type AnyElysia, Elysia } from "elysia";
import type { Deps } from "../app/deps.ts";
import { apiKeyRoutes, exchangeRoutes } from "../access/api_keys/routes.ts";
import { auditRoutes } from "../audit/routes.ts";
import { identityRoutes } from "../access/identity/routes.ts";
import { authorizationRoutes } from "../access/authorizations/routes.ts";
import { mySessionRoutes, sessionRoutes } from "../access/browser_sessions/routes.ts";
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
import { clientFigureRoutes } from "../billing/client_figures/routes.ts";
import { clientRoutes } from "../billing/clients/routes.ts";
import { collectionRoutes } from "../emandate/collections/routes.ts";
import { ConsoleFiles } from "../console/server/files.ts";
import type { DemoAccount } from "../console/server/demo_accounts.ts";
import { consoleEndpoint } from "../console/server/endpoint.ts";
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
import {
  agentApplicationRoutes,
  lenderApplicationRoutes,
  lendingApplicationRoutes,
} from "../loans/applications/routes.ts";
import { agentProgramRoutes, lenderProgramRoutes, lendingProgramRoutes } from "../loans/programs/routes.ts";
import {
  agentConsentDefinitionRoutes,
  lenderConsentDefinitionRoutes,
  lendingConsentDefinitionRoutes,
} from "../loans/consent_definitions/routes.ts";
import { agentConsentRoutes, lenderConsentRoutes, lendingConsentRoutes } from "../loans/consents/routes.ts";
import {
  agentDocumentRoutes,
  agentUploadRoutes,
  lenderDocumentRoutes,
  lendingDocumentRoutes,
} from "../loans/documents/routes.ts";
import { featureRoutes } from "../billing/features/routes.ts";
import { meterRoutes } from "../billing/meters/routes.ts";
import { productRoutes } from "../billing/products/routes.ts";
import { revenueRoutes } from "../billing/revenue/routes.ts";
import { runningBillRoutes } from "../billing/running_bills/routes.ts";
import { quoteRoutes } from "../billing/quotes/routes.ts";
import { loginRoutes, logoutRoutes, profileRoutes } from "../access/sessions/routes.ts";
import { billingModelMigrationRoutes } from "../billing/billing_model_migrations/routes.ts";
import { addOnRoutes } from "../billing/add_ons/routes.ts";
import {
  mySubscriptionAddOnRoutes,
  subscriptionAddOnRoutes,
} from "../billing/subscription_add_ons/routes.ts";
import { selfServicePreviewRoutes, selfServiceRoutes } from "../billing/self_service/routes.ts";
import { marginRoutes } from "../billing/margins/routes.ts";
import { changePreviewRoutes } from "../billing/previews/routes.ts";
import { simulationRoutes } from "../billing/simulations/routes.ts";
import { mySubscriptionRoutes, subscriptionRoutes } from "../billing/subscriptions/routes.ts";
import { myOverviewRoutes, overviewRoutes } from "../overview/routes.ts";
import { personErasureRoutes } from "../people/routes.ts";
import { usageErasureRoutes } from "../usage/erasures/routes.ts";
import { exportLinkRoutes, myUsageExportRoutes, usageExportRoutes } from "../usage/export/routes.ts";
import { importRoutes } from "../usage/import/routes.ts";
import { ingestRoutes } from "../usage/ingest/routes.ts";
import { myUsageSearchRoutes, usageSearchRoutes } from "../usage/search/routes.ts";
import { myUsageSeriesRoutes, usageSeriesRoutes } from "../usage/series/routes.ts";
import { usageFileRoutes, usageUploadRoutes } from "../usage/uploads/routes.ts";
import { myViewRoutes, viewRoutes } from "../usage/views/routes.ts";
import { openUserLinkRoutes, userLinkRoutes } from "../access/user_links/routes.ts";
import { userRoutes } from "../access/users/routes.ts";
import {
  lenderWebhookLogRoutes,
  lendingWebhookLogRoutes,
  webhookLogRoutes,
} from "../webhooks/deliveries/routes.ts";
import { lenderWebhookRoutes, lendingWebhookRoutes, webhookRoutes } from "../webhooks/endpoints/routes.ts";
import { alertRoutes } from "../entitlements/alerts/routes.ts";
import { checkRoutes } from "../entitlements/checks/routes.ts";
import { entitlementRoutes, myEntitlementRoutes } from "../entitlements/grants/routes.ts";
import { mySpendLimitRoutes, spendLimitRoutes } from "../entitlements/spend_limits/routes.ts";
import { errorHandler } from "../http/error_handler.ts";
import { observeRequests } from "../http/observe_requests.ts";
import { documentation, documentOf } from "../http/documentation.ts";
import { metrics } from "../http/metrics.ts";
import { probes } from "../http/probes.ts";
import { Readiness } from "../http/readiness.ts";
import { mcpEndpoint } from "../mcp/endpoint.ts";
import { internalRoutes } from "./internal/endpoint.ts";
import type { Actions } from "./operator/action.ts";
import { operatorHandler } from "./operator/handler.ts";
import { operatorRoutes } from "./operator/admission.ts";

/** What an app is built with; what is left out is made, or there is none. */
interface AppParts {
  /** What the operator may ask for. */
  actions?: Actions;
  readiness?: Readiness;
  files?: ConsoleFiles;
  /** Who signs in by a button, in the demo. */
  demo_accounts?: readonly DemoAccount[];
}

/** Builds the HTTP interface over opened stores. It does not listen yet. */
export function buildApp(deps: Deps, parts: AppParts = {}) {
  const { actions = {}, readiness = new Readiness(deps), demo_accounts = [] } = parts;
  const files = parts.files ?? new ConsoleFiles(deps.log);
  const app: AnyElysia = new Elysia({
    // Unknown fields are refused by the schemas, never dropped in silence.
    normalize: false,
    handler: { standardHostname: false },
  })
    .use(observeRequests(deps))
    .use(errorHandler(deps, () => app.routes))
    .use(probes(deps, readiness))
    .use(metrics(deps))
    .use(pages(() => app, files, demo_accounts))
    .use(operatorRoutes(deps, (request) => operatorHandler({ deps, actions, api: app })(request)))
    .use(internalRoutes(deps))
    .use(metadataRoutes(deps))
    .use(oauthRoutes(deps))
    .group("/api/v1", (api) =>
      api
        .use(signingIn(deps))
        .use(exchangeRoutes(deps))
        .use(callers(deps))
        .use(companyRoutes(deps))
        .use(userRoutes(deps))
        .use(apiKeyRoutes(deps))
        .use(auditRoutes(deps))
        .use(clientRoutes(deps))
        .use(billingProfileRoutes(deps))
        .use(productRoutes(deps))
        .use(meterRoutes(deps))
        .use(billingTypeRoutes(deps))
        .use(questions(deps))
        .use(billingModelRoutes(deps))
        .use(myBillingModelRoutes(deps))
        .use(addOnRoutes(deps))
        .use(billingModelMigrationRoutes(deps))
        .use(subscriptionAddOnRoutes(deps))
        .use(mySubscriptionAddOnRoutes(deps))
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
        .use(formRoutes(deps))
        .use(myFormRoutes(deps))
        .use(ingestRoutes(deps))
        .use(limits(deps))
        .use(importRoutes(deps))
        .use(exportLinkRoutes(deps))
        .use(usageErasureRoutes(deps))
        .use(personErasureRoutes(deps))
        .use(usageExportRoutes(deps))
        .use(usageQuestions(deps))
        .use(myUsageExportRoutes(deps))
        .use(eventRoutes(deps))
        .use(webhookRoutes(deps))
        .use(webhookLogRoutes(deps))
        .use(directDebit(deps))
        .use(loans(deps))
        .use(mcpEndpoint(deps, async () => (await import("./mcp_offer.ts")).mcpOffer(() => documentOf(app)))),
    );
  return app;
}

/** What browsers show. */
const pages = (appOf: () => AnyElysia, files: ConsoleFiles, accounts: readonly DemoAccount[]) =>
  new Elysia().use(documentation(appOf)).use(consoleEndpoint(files, () => documentOf(appOf()), accounts));

const signingIn = (deps: Deps) =>
  new Elysia()
    .use(loginRoutes(deps))
    .use(logoutRoutes(deps))
    .use(sessionRoutes(deps))
    .use(mySessionRoutes(deps))
    .use(openUserLinkRoutes(deps))
    .use(userLinkRoutes(deps));

/** Who calls, what they let act for them, and what they find first. */
const callers = (deps: Deps) =>
  new Elysia()
    .use(identityRoutes(deps))
    .use(profileRoutes(deps))
    .use(authorizationRoutes(deps))
    .use(overviewRoutes(deps))
    .use(myOverviewRoutes(deps));

/** What would be billed, what is earned, and what clients do themselves. */
const questions = (deps: Deps) =>
  new Elysia()
    .use(quoteRoutes(deps))
    .use(changePreviewRoutes(deps))
    .use(selfServiceRoutes(deps))
    .use(selfServicePreviewRoutes(deps))
    .use(previewRoutes(deps))
    .use(myPreviewRoutes(deps))
    .use(simulationRoutes(deps))
    .use(marginRoutes(deps))
    .use(revenueRoutes(deps))
    .use(runningBillRoutes(deps))
    .use(clientFigureRoutes(deps));

/** What plans grant, and the checks of it. */
const limits = (deps: Deps) =>
  new Elysia()
    .use(featureRoutes(deps))
    .use(checkRoutes(deps))
    .use(entitlementRoutes(deps))
    .use(spendLimitRoutes(deps))
    .use(alertRoutes(deps))
    .use(myEntitlementRoutes(deps))
    .use(mySpendLimitRoutes(deps));

/** What people and programs ask about usage. */
const usageQuestions = (deps: Deps) =>
  new Elysia()
    .use(usageSearchRoutes(deps))
    .use(myUsageSearchRoutes(deps))
    .use(usageSeriesRoutes(deps))
    .use(myUsageSeriesRoutes(deps))
    .use(viewRoutes(deps))
    .use(myViewRoutes(deps))
    .use(usageUploadRoutes(deps))
    .use(usageFileRoutes(deps));

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

/** What lenders' and agents' machines do, and what users do for the lender. */
const loans = (deps: Deps) =>
  new Elysia()
    .use(lenderProgramRoutes(deps))
    .use(lendingProgramRoutes(deps))
    .use(lenderApplicationRoutes(deps))
    .use(lendingApplicationRoutes(deps))
    .use(lenderDocumentRoutes(deps))
    .use(lendingDocumentRoutes(deps))
    .use(lenderConsentDefinitionRoutes(deps))
    .use(lendingConsentDefinitionRoutes(deps))
    .use(lenderConsentRoutes(deps))
    .use(lendingConsentRoutes(deps))
    .use(lenderWebhookRoutes(deps))
    .use(lendingWebhookRoutes(deps))
    .use(lenderWebhookLogRoutes(deps))
    .use(lendingWebhookLogRoutes(deps))
    .use(agentProgramRoutes(deps))
    .use(agentApplicationRoutes(deps))
    .use(agentDocumentRoutes(deps))
    .use(agentUploadRoutes(deps))
    .use(agentConsentDefinitionRoutes(deps))
    .use(agentConsentRoutes(deps));
