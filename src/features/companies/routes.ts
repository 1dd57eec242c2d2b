import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { answers, data, dataOf } from "../../http/answers.ts";
import { session } from "../../http/session.ts";
import { Company, UpdateCompany } from "./model.ts";
import { getCompany, updateCompany } from "./service.ts";

export const companyRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/company", tags: ["Company"] })
    .use(session(deps, "company"))
    .get("", ({ ctx }) => data(call(ctx, getCompany, {})), {
      response: answers({ 200: dataOf(Company) }),
      detail: { operationId: getCompany.name, summary: "Get the company" },
    })
    .put("", ({ ctx, body }) => data(call(ctx, updateCompany, body)), {
      body: UpdateCompany,
      response: answers({ 200: dataOf(Company) }),
      detail: {
        operationId: updateCompany.name,
        summary: "Change the company",
        description: "A new time zone counts from the next billing period.",
      },
    });
