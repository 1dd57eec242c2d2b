import { route, routes } from "../../http/route.ts";
import {
  createConsentDefinition,
  createConsentDefinitionVersion,
  getConsentDefinition,
  grantConsent,
  listConsentDefinitions,
  listConsents,
  listOwnConsents,
  listPublishedConsentDefinitions,
  publishConsentDefinition,
  retireConsentDefinition,
  revokeConsent,
  updateConsentDefinition,
} from "./service.ts";

const WHOLE = "Whole, or one page when page or limit is given.";
export const consentDefinitionRoutes = routes({ tag: "Lending", admits: "lender" }, [
  route("GET /lender/consent-definitions", listConsentDefinitions, {
    summary: "List consent definitions",
    description: `By code, language and version, the newest first. ${WHOLE}`,
  }),
  route("POST /lender/consent-definitions", createConsentDefinition, {
    summary: "Create a consent definition",
    description:
      "The first version of a code in a language, as a draft. Without validity_days a consent holds until it is revoked.",
    status: 201,
    errors: [409],
  }),
  route("GET /lender/consent-definitions/:id", getConsentDefinition, { summary: "Get a consent definition" }),
  route("PUT /lender/consent-definitions/:id", updateConsentDefinition, {
    summary: "Change a draft consent definition",
    description:
      "What is left out stays as it is. Its code and locale stay; what is published takes a new version.",
    errors: [409],
  }),
]);

/** What becomes of definitions, and what borrowers said to them. */
export const lenderConsentRoutes = routes({ tag: "Lending", admits: "lender" }, [
  route("POST /lender/consent-definitions/:id/publish", publishConsentDefinition, {
    summary: "Publish a consent definition",
    description: "The version of its code and language that was published before is retired.",
    errors: [409],
  }),
  route("POST /lender/consent-definitions/:id/retire", retireConsentDefinition, {
    summary: "Retire a published consent definition",
    errors: [409],
  }),
  route("POST /lender/consent-definitions/:id/versions", createConsentDefinitionVersion, {
    summary: "Create a new version of a consent definition",
    description: "A draft with the same text, but for the fields that are given.",
    status: 201,
    errors: [409],
  }),
  route("GET /lender/applications/:id/consents", listConsents, {
    summary: "List an application's consents",
    description: WHOLE,
  }),
]);

export const agentConsentRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/consent-definitions", listPublishedConsentDefinitions, {
    summary: "List published consent definitions",
    description: WHOLE,
  }),
  route("GET /agent/applications/:id/consents", listOwnConsents, {
    summary: "List the consents of one of the agent's applications",
    description: WHOLE,
  }),
  route("POST /agent/applications/:id/consents", grantConsent, {
    summary: "Record a borrower's consent",
    description:
      "To a published definition, with the evidence of how and when it was given. Who consents is taken from the application.",
    status: 201,
    errors: [409],
  }),
  route("POST /agent/consents/:id/revoke", revokeConsent, {
    summary: "Revoke a consent",
    description: "An application that needs it and is submitted or under review is moved to action_required.",
    errors: [409],
  }),
]);
