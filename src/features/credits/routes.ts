import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { BillingModelChange } from "../billing_model_changes/model.ts";
import { ChangePlanBody, CreditBalance } from "./model.ts";
import { downgradeSubscription, getCredits, upgradeSubscription } from "./service.ts";

const BALANCE = {
  params: IdPath,
  response: answers({ 200: dataOf(CreditBalance), 400: ErrorBody, 404: ErrorBody, 503: ErrorBody }),
};
const THE_MONTH =
  "Of the running billing month, by the same rule as its bill. 400 when the subscription is not credit-based.";

const CHANGED = answers({
  200: dataOf(BillingModelChange),
  404: ErrorBody,
  409: ErrorBody,
  503: ErrorBody,
});

export const creditRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/subscriptions/:id", tags: ["Credits"] })
    .use(session(deps, "company"))
    .get("/credits", ({ ctx, params }) => data(call(ctx, getCredits, params)), {
      ...BALANCE,
      detail: {
        operationId: getCredits.name,
        summary: "Get a subscription's credits",
        description: THE_MONTH,
      },
    })
    .post(
      "/upgrade",
      ({ ctx, params, body }) => data(call(ctx, upgradeSubscription, { ...params, ...body })),
      {
        params: IdPath,
        body: ChangePlanBody,
        response: CHANGED,
        detail: {
          operationId: upgradeSubscription.name,
          summary: "Upgrade a credit plan",
          description:
            "At once, to a plan with more credits. credits_added are the difference by the days left in the month, today included, rounded up. A downgrade that waits is cancelled.",
        },
      },
    )
    .post(
      "/downgrade",
      ({ ctx, params, body }) => data(call(ctx, downgradeSubscription, { ...params, ...body })),
      {
        params: IdPath,
        body: ChangePlanBody,
        response: CHANGED,
        detail: {
          operationId: downgradeSubscription.name,
          summary: "Downgrade a credit plan",
          description:
            "From the next billing month on, to a plan with fewer credits: a scheduled change, which can be cancelled like any other. It takes the place of a downgrade that waits.",
        },
      },
    );

export const myCreditRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/my/subscriptions/:id", tags: ["Self-service"] })
    .use(session(deps, "client"))
    .get("/credits", ({ ctx, params }) => data(call(ctx, getCredits, params)), {
      ...BALANCE,
      detail: {
        operationId: getCredits.name,
        summary: "Get the credits of one of my subscriptions",
        description: THE_MONTH,
      },
    });
