import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  Consent,
  ConsentDefinition,
  ConsentGrant,
  ConsentRevocation,
  CreateDefinition,
  DefinitionChange,
  DefinitionVersion,
  ListConsentsQuery,
  ListDefinitions,
  ListPublishedDefinitions,
} from "./model.ts";
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
const CHANGED = answers({ 200: dataOf(ConsentDefinition), 404: ErrorBody, 409: ErrorBody });
const MOVED = { params: IdPath, body: Nothing, response: CHANGED };

export const consentDefinitionRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/lender", tags: ["Lending"] })
    .use(session(deps, "lender"))
    .get("/consent-definitions", ({ ctx, query }) => call(ctx, listConsentDefinitions, query), {
      query: fromText(ListDefinitions),
      response: answers({ 200: listed(ConsentDefinition) }),
      detail: {
        operationId: listConsentDefinitions.name,
        summary: "List consent definitions",
        description: `By code, language and version, the newest first. ${WHOLE}`,
      },
    })
    .post(
      "/consent-definitions",
      async ({ ctx, body, status }) => status(201, await data(call(ctx, createConsentDefinition, body))),
      {
        body: CreateDefinition,
        response: answers({ 201: dataOf(ConsentDefinition), 409: ErrorBody }),
        detail: {
          operationId: createConsentDefinition.name,
          summary: "Create a consent definition",
          description:
            "The first version of a code in a language, as a draft. Without validity_days a consent holds until it is revoked.",
        },
      },
    )
    .get("/consent-definitions/:id", ({ ctx, params }) => data(call(ctx, getConsentDefinition, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(ConsentDefinition), 404: ErrorBody }),
      detail: { operationId: getConsentDefinition.name, summary: "Get a consent definition" },
    })
    .put(
      "/consent-definitions/:id",
      ({ ctx, params, body }) => data(call(ctx, updateConsentDefinition, { ...params, ...body })),
      {
        params: IdPath,
        body: DefinitionChange,
        response: CHANGED,
        detail: {
          operationId: updateConsentDefinition.name,
          summary: "Change the text of a draft",
          description:
            "What is left out stays as it is. Its code and locale stay; what is published takes a new version.",
        },
      },
    );

/** What becomes of definitions, and what borrowers said to them. */
export const lenderConsentRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/lender", tags: ["Lending"] })
    .use(session(deps, "lender"))
    .post(
      "/consent-definitions/:id/publish",
      ({ ctx, params }) => data(call(ctx, publishConsentDefinition, params)),
      {
        ...MOVED,
        detail: {
          operationId: publishConsentDefinition.name,
          summary: "Publish a draft",
          description: "The version of its code and language that was published before is retired.",
        },
      },
    )
    .post(
      "/consent-definitions/:id/retire",
      ({ ctx, params }) => data(call(ctx, retireConsentDefinition, params)),
      {
        ...MOVED,
        detail: {
          operationId: retireConsentDefinition.name,
          summary: "Retire a published consent definition",
        },
      },
    )
    .post(
      "/consent-definitions/:id/versions",
      async ({ ctx, params, body, status }) =>
        status(201, await data(call(ctx, createConsentDefinitionVersion, { ...params, ...body }))),
      {
        params: IdPath,
        body: DefinitionVersion,
        response: answers({ 201: dataOf(ConsentDefinition), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: createConsentDefinitionVersion.name,
          summary: "Make the next version of a consent definition",
          description: "A draft with the same text, but for the fields that are given.",
        },
      },
    )
    .get(
      "/applications/:id/consents",
      ({ ctx, params, query }) => call(ctx, listConsents, { ...params, ...query }),
      {
        params: IdPath,
        query: fromText(ListConsentsQuery),
        response: answers({ 200: listed(Consent), 404: ErrorBody }),
        detail: {
          operationId: listConsents.name,
          summary: "List an application's consents",
          description: WHOLE,
        },
      },
    );

export const agentConsentRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/agent", tags: ["Borrowing"] })
    .use(session(deps, "agent"))
    .get("/consent-definitions", ({ ctx, query }) => call(ctx, listPublishedConsentDefinitions, query), {
      query: fromText(ListPublishedDefinitions),
      response: answers({ 200: listed(ConsentDefinition) }),
      detail: {
        operationId: listPublishedConsentDefinitions.name,
        summary: "List what borrowers may be asked to consent to",
        description: WHOLE,
      },
    })
    .get(
      "/applications/:id/consents",
      ({ ctx, params, query }) => call(ctx, listOwnConsents, { ...params, ...query }),
      {
        params: IdPath,
        query: fromText(ListConsentsQuery),
        response: answers({ 200: listed(Consent), 404: ErrorBody }),
        detail: {
          operationId: listOwnConsents.name,
          summary: "List the consents of one's own application",
          description: WHOLE,
        },
      },
    )
    .post(
      "/applications/:id/consents",
      async ({ ctx, params, body, status }) =>
        status(201, await data(call(ctx, grantConsent, { ...params, ...body }))),
      {
        params: IdPath,
        body: ConsentGrant,
        response: answers({ 201: dataOf(Consent), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: grantConsent.name,
          summary: "Record a borrower's consent",
          description:
            "To a published definition, with the evidence of how and when it was given. Who consents is taken from the application.",
        },
      },
    )
    .post(
      "/consents/:id/revoke",
      ({ ctx, params, body }) => data(call(ctx, revokeConsent, { ...params, ...body })),
      {
        params: IdPath,
        body: ConsentRevocation,
        response: answers({ 200: dataOf(Consent), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: revokeConsent.name,
          summary: "Take a consent back",
          description:
            "An application that needs it and is submitted or under review is moved to action_required.",
        },
      },
    );
