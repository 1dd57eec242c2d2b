import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { paged } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { ListMandateFlags, MandateFlag, ResolveMandateFlagBody } from "./model.ts";
import { getMandateFlag, listMandateFlags, resolveMandateFlag } from "./service.ts";

export const mandateFlagRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate/flags", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listMandateFlags, query), {
      query: fromText(ListMandateFlags),
      response: answers({ 200: paged(MandateFlag) }),
      detail: {
        operationId: listMandateFlags.name,
        summary: "List what a person must decide",
        description:
          "Debits and mandates of which the scheme said something that can't be applied, or nothing at all. Newest first; status open is what is left to do.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getMandateFlag, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(MandateFlag), 404: ErrorBody }),
      detail: { operationId: getMandateFlag.name, summary: "Get a flag" },
    })
    .post(
      "/:id/resolve",
      ({ ctx, params, body }) => data(call(ctx, resolveMandateFlag, { ...params, ...body })),
      {
        params: IdPath,
        body: ResolveMandateFlagBody,
        response: answers({ 200: dataOf(MandateFlag), 404: ErrorBody, 409: ErrorBody }),
        detail: {
          operationId: resolveMandateFlag.name,
          summary: "Resolve a flag",
          description: "Notes what was decided. Neither the payment nor the mandate changes by it.",
        },
      },
    );
