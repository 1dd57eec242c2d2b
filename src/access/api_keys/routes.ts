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
      "For machines. Send the token in the Authorization header. It is valid for an hour, or until the clientSecret ends, and only for the paths of the key's role: /lender, /agent or POST /usage/events.",
    errors: [401],
    bare: true,
  }),
]);

export const apiKeyRoutes = routes({ tag: "API keys", admits: "company" }, [
  route("GET /api-keys", listApiKeys, {
    summary: "List API keys",
    description:
      "Admins only. Includes revoked keys. All at once unless page or limit is given; search matches names and clientIds.",
  }),
  route("POST /api-keys", createApiKey, {
    summary: "Create an API key",
    description:
      "Admins only. The clientSecret is shown only in this response. Keys for ingest must be for production: usage has no staging.",
    status: 201,
    errors: [409],
  }),
  route("GET /api-keys/:id", getApiKey, { summary: "Get an API key", description: "Admins only." }),
  route("DELETE /api-keys/:id", revokeApiKey, {
    summary: "Revoke an API key",
    description: "Admins only. Its secrets and tokens end at once; it stays listed.",
    errors: [409],
  }),
  route("POST /api-keys/:id/rotate", rotateApiKey, {
    summary: "Rotate an API key's secret",
    description:
      "Admins only. The new secret is shown only in this response. The old one works for grace_hours more, 24 by default; with 0 it ends at once, and so do its tokens. A secret from an earlier rotation ends.",
    errors: [409],
  }),
]);
