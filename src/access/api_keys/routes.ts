import { route, routes } from "../../http/route.ts";
import {
  createApiKey,
  exchangeApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
} from "./service.ts";

export const exchangeRoutes = routes({ tag: "Authentication", admits: "open" }, [
  route("POST /auth/token", exchangeApiKey, {
    summary: "Exchange an API key for a token",
    description:
      "For machines. The token goes into the Authorization header and is good for an hour, or for as long as the clientSecret. It opens what the key's role is for: /lender, /agent or POST /usage/events, and nothing else.",
    errors: [401],
    bare: true,
  }),
]);

export const apiKeyRoutes = routes({ tag: "API keys", admits: "company" }, [
  route("GET /api-keys", listApiKeys, {
    summary: "List API keys",
    description:
      "Admins only. Whole, or one page when page or limit is given, revoked keys too; search looks into names and clientIds.",
  }),
  route("POST /api-keys", createApiKey, {
    summary: "Create an API key",
    description:
      "Admins only. The clientSecret is shown only in this answer. Keys for ingest are made for production: usage has no staging.",
    status: 201,
    errors: [409],
  }),
  route("GET /api-keys/:id", getApiKey, { summary: "Get an API key", description: "Admins only." }),
  route("DELETE /api-keys/:id", revokeApiKey, {
    summary: "Revoke an API key",
    description: "Admins only. Its secrets and its tokens end at once; it stays listed.",
    errors: [409],
  }),
  route("POST /api-keys/:id/rotate", rotateApiKey, {
    summary: "Rotate an API key's secret",
    description:
      "Admins only. Shown only in this answer. The secret until now works for grace_hours beside the new one, 24 unless told; with 0 it ends at once, and so do the tokens that it was exchanged for. One that was rotated before ends.",
    errors: [409],
  }),
]);
