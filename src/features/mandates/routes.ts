import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import {
  AmendmentPreview,
  AmendMandateBody,
  AuthorizeMandateBody,
  CreateMandate,
  ListMandates,
  Mandate,
  MandateActionBody,
  MandateDetail,
  PreviewAmendmentQuery,
} from "./model.ts";
import {
  amendMandate,
  authorizeMandate,
  cancelMandate,
  createMandate,
  getMandate,
  listMandates,
  previewAmendment,
  resumeMandate,
  suspendMandate,
  terminateMandate,
  withdrawMandateRequest,
} from "./service.ts";

const refusals = { 404: ErrorBody, 409: ErrorBody };
/** Every action answers the mandate as it is after it. */
const acted = {
  params: IdPath,
  body: MandateActionBody,
  response: answers({ 200: dataOf(Mandate), ...refusals }),
};

const recordRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/mandates", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listMandates, query), {
      query: fromText(ListMandates),
      response: answers({ 200: paged(Mandate) }),
      detail: {
        operationId: listMandates.name,
        summary: "List mandates",
        description: "Newest first. search looks into the customer's name and email and the reference.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createMandate, body))), {
      body: CreateMandate,
      response: answers({ 201: dataOf(Mandate) }),
      detail: {
        operationId: createMandate.name,
        summary: "Create a mandate",
        description:
          "The customer is found by email, and made when new; of a known one blanks are filled. Amount, frequency and debits a period follow from the product, which later changes of the product do not touch; without a product the scheme's own limit holds, and without an amount debits are made by hand only.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getMandate, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(MandateDetail), 404: ErrorBody }),
      detail: {
        operationId: getMandate.name,
        summary: "Get a mandate",
        description: "With its last payments and what happened to it.",
      },
    });

const previewRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/mandates", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .get(
      "/:id/amend/preview",
      ({ ctx, params, query }) => data(call(ctx, previewAmendment, { ...params, ...query })),
      {
        params: IdPath,
        query: fromText(PreviewAmendmentQuery),
        response: answers({ 200: dataOf(AmendmentPreview), ...refusals }),
        detail: {
          operationId: previewAmendment.name,
          summary: "Preview an amendment",
          description:
            "What the mandate would say and when it would be collected, if the bank took the change today. Nobody is asked and nothing changes.",
        },
      },
    );

const actionRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/mandates", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .post(
      "/:id/authorize",
      ({ ctx, params, body }) => data(call(ctx, authorizeMandate, { ...params, ...body })),
      {
        params: IdPath,
        body: AuthorizeMandateBody,
        response: answers({ 200: dataOf(Mandate), ...refusals }),
        detail: {
          operationId: authorizeMandate.name,
          summary: "Ask for a mandate's authorization",
          description:
            "The customer goes to authorization_url. One that failed may be asked for again; without an answer within 24 hours it fails.",
        },
      },
    )
    .post(
      "/:id/suspend",
      ({ ctx, params, body }) => data(call(ctx, suspendMandate, { ...params, ...body })),
      {
        ...acted,
        detail: {
          operationId: suspendMandate.name,
          summary: "Suspend a mandate",
          description: "Nothing is debited until it is resumed.",
        },
      },
    )
    .post("/:id/resume", ({ ctx, params, body }) => data(call(ctx, resumeMandate, { ...params, ...body })), {
      ...acted,
      detail: {
        operationId: resumeMandate.name,
        summary: "Resume a mandate",
        description: "What came due while it was suspended is not collected later.",
      },
    })
    .post("/:id/cancel", ({ ctx, params, body }) => data(call(ctx, cancelMandate, { ...params, ...body })), {
      ...acted,
      detail: {
        operationId: cancelMandate.name,
        summary: "Cancel a mandate",
        description: "Only until the customer authorized it; one in force is terminated.",
      },
    });

/** What the bank is asked of a mandate in force. */
const bankRequestRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/mandates", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .post(
      "/:id/terminate",
      ({ ctx, params, body }) => data(call(ctx, terminateMandate, { ...params, ...body })),
      {
        ...acted,
        detail: {
          operationId: terminateMandate.name,
          summary: "Terminate a mandate",
          description:
            "The bank is asked to end it; until it has, the mandate is pending_termination. Payments that are not yet submitted are cancelled.",
        },
      },
    )
    .post(
      "/:id/withdraw",
      ({ ctx, params, body }) => data(call(ctx, withdrawMandateRequest, { ...params, ...body })),
      {
        ...acted,
        detail: {
          operationId: withdrawMandateRequest.name,
          summary: "Withdraw what the bank was asked",
          description:
            "Takes back an end, else a change, that the bank has not answered: the mandate stands as before. Nothing can be called back at the bank: an answer that comes all the same counts.",
        },
      },
    )
    .post(
      "/:id/amend",
      async ({ ctx, params, body, status }) =>
        status(202, await data(call(ctx, amendMandate, { ...params, ...body }))),
      {
        params: IdPath,
        body: AmendMandateBody,
        response: answers({ 202: dataOf(Mandate), ...refusals }),
        detail: {
          operationId: amendMandate.name,
          summary: "Amend a mandate",
          description:
            "The bank is asked to take a new amount, frequency or last day, at least one of them. The mandate stays as it is, with what was asked for in amendment, until the bank has answered.",
        },
      },
    );

export const mandateRoutes = (deps: Deps) =>
  new Elysia()
    .use(recordRoutes(deps))
    .use(previewRoutes(deps))
    .use(actionRoutes(deps))
    .use(bankRequestRoutes(deps));
