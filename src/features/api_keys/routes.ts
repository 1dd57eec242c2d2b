import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listed, Nothing } from "../../core/schema.ts";
import { answers, data, dataOf, ErrorBody } from "../../http/answers.ts";
import { fromText, IdPath } from "../../http/params.ts";
import { session } from "../../http/session.ts";
import { LoginResponse } from "../sessions/model.ts";
import {
  ApiKey,
  ApiKeyRotation,
  ApiKeyWithSecret,
  CreateApiKey,
  ExchangeApiKey,
  ListApiKeys,
} from "./model.ts";
import {
  createApiKey,
  exchangeApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from "./service.ts";

export const exchangeRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/auth", tags: ["Authentication"] })
    .use(session(deps, "open"))
    .post("/token", ({ ctx, body }) => call(ctx, exchangeApiKey, body), {
      body: ExchangeApiKey,
      response: answers({ 200: LoginResponse, 401: ErrorBody }),
      detail: {
        operationId: exchangeApiKey.name,
        summary: "Exchange an API key for a token",
        description:
          "For machines. The token goes into the Authorization header and is good for an hour, or for as long as the clientSecret. It opens what the key's role is for: /lender, /agent or POST /usage/events, and nothing else.",
        security: [],
      },
    });

export const apiKeyRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/api-keys", tags: ["API keys"] })
    .use(session(deps, "company"))
    .get("", ({ ctx, query }) => call(ctx, listApiKeys, query), {
      query: fromText(ListApiKeys),
      response: answers({ 200: listed(ApiKey) }),
      detail: {
        operationId: listApiKeys.name,
        summary: "List API keys",
        description:
          "Admins only. Whole, or one page when page or limit is given, revoked keys too; search looks into names and clientIds.",
      },
    })
    .post("", async ({ ctx, body, status }) => status(201, await data(call(ctx, createApiKey, body))), {
      body: CreateApiKey,
      response: answers({ 201: dataOf(ApiKeyWithSecret), 409: ErrorBody }),
      detail: {
        operationId: createApiKey.name,
        summary: "Create an API key",
        description:
          "Admins only. The clientSecret is shown only in this answer. Keys for ingest are made for production: usage has no staging.",
      },
    })
    .get("/:id", ({ ctx, params }) => data(call(ctx, getApiKey, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(ApiKey), 404: ErrorBody }),
      detail: { operationId: getApiKey.name, summary: "Get an API key", description: "Admins only." },
    })
    .delete("/:id", ({ ctx, params }) => data(call(ctx, revokeApiKey, params)), {
      params: IdPath,
      response: answers({ 200: dataOf(Nothing), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: revokeApiKey.name,
        summary: "Revoke an API key",
        description: "Admins only. Its secrets and its tokens end at once; it stays listed.",
      },
    })
    .post("/:id/rotate", ({ ctx, params, body }) => data(call(ctx, rotateApiKey, { ...params, ...body })), {
      params: IdPath,
      body: ApiKeyRotation,
      response: answers({ 200: dataOf(ApiKeyWithSecret), 404: ErrorBody, 409: ErrorBody }),
      detail: {
        operationId: rotateApiKey.name,
        summary: "Give an API key a new secret",
        description:
          "Admins only. Shown only in this answer. The secret until now works for grace_hours beside the new one, 24 unless told; with 0 it ends at once, and so do the tokens that it was exchanged for. One that was rotated before ends.",
      },
    });
