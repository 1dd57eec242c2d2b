import { lendingRoutes, route, routes } from "../../http/route.ts";
import {
  createConsentDefinition,
  createConsentDefinitionVersion,
  getConsentDefinition,
  listConsentDefinitions,
  listPublishedConsentDefinitions,
  publishConsentDefinition,
  retireConsentDefinition,
  updateConsentDefinition,
} from "./service.ts";

const WHOLE = "The whole list, or one page when page or limit is given.";

const lenderRows = [
  route("GET /lender/consent-definitions", listConsentDefinitions, {
    summary: "List consent definitions",
    description: `By code, locale and version, newest version first. ${WHOLE}`,
  }),
  route("POST /lender/consent-definitions", createConsentDefinition, {
    summary: "Create a consent definition",
    description:
      "Creates the first version of a code in a locale, as a draft. Without validity_days, a consent is valid until it is revoked.",
    status: 201,
    errors: [409],
  }),
  route("GET /lender/consent-definitions/:id", getConsentDefinition, { summary: "Get a consent definition" }),
  route("PUT /lender/consent-definitions/:id", updateConsentDefinition, {
    summary: "Change a draft consent definition",
    description:
      "Fields left out keep their value. code and locale cannot change; to change a published definition, create a new version.",
    errors: [409],
    if_match: true,
  }),
  route("POST /lender/consent-definitions/:id/publish", publishConsentDefinition, {
    summary: "Publish a consent definition",
    description: "Publishes a draft and retires the published version of the same code and locale.",
    errors: [409],
  }),
  route("POST /lender/consent-definitions/:id/retire", retireConsentDefinition, {
    summary: "Retire a consent definition",
    description: "Retires a published definition: borrowers can no longer consent to it.",
    errors: [409],
  }),
  route("POST /lender/consent-definitions/:id/versions", createConsentDefinitionVersion, {
    summary: "Create a new version of a consent definition",
    description: "Creates a draft with the same text, except for the fields given.",
    status: 201,
    errors: [409],
  }),
];

export const lenderConsentDefinitionRoutes = routes({ tag: "Lending", admits: "lender" }, lenderRows);
export const lendingConsentDefinitionRoutes = lendingRoutes(lenderRows);

export const agentConsentDefinitionRoutes = routes({ tag: "Borrowing", admits: "agent" }, [
  route("GET /agent/consent-definitions", listPublishedConsentDefinitions, {
    summary: "List published consent definitions",
    description: `The texts that borrowers can consent to. ${WHOLE}`,
  }),
]);
