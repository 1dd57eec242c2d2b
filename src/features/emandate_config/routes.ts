import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { Bank, ListEmandateBanks, MerchantConfig, UpdateEmandateConfig } from "./model.ts";
import { getEmandateConfig, listEmandateBanks, updateEmandateConfig } from "./service.ts";

export const emandateConfigRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/emandate", tags: ["E-mandates"] })
    .use(session(deps, "company"))
    .get("/banks", ({ ctx, query }) => call(ctx, listEmandateBanks, query), {
      query: fromText(ListEmandateBanks),
      response: answers({ 200: listed(Bank) }),
      detail: {
        operationId: listEmandateBanks.name,
        summary: "List the debit scheme's banks",
        description:
          "A bank that debits both kinds of accounts is there twice. checked_at tells when the scheme last said who is online; null: never yet. The sandbox has test banks, too.",
      },
    })
    .get("/config", ({ ctx }) => data(call(ctx, getEmandateConfig, {})), {
      response: answers({ 200: dataOf(MerchantConfig) }),
      detail: {
        operationId: getEmandateConfig.name,
        summary: "Get the merchant configuration",
        description: "How the company works with the debit scheme. The private key is never answered.",
      },
    })
    .put("/config", ({ ctx, body }) => data(call(ctx, updateEmandateConfig, body)), {
      body: UpdateEmandateConfig,
      response: answers({ 200: dataOf(MerchantConfig), 409: ErrorBody }),
      detail: {
        operationId: updateEmandateConfig.name,
        summary: "Change the merchant configuration",
        description:
          "Admins only. What is left out stays, null empties. private_key_pem and scheme_certificate_pem are written, never read. Connector fpx is refused while something it needs is missing.",
      },
    });
