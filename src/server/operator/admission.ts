import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { AppError } from "../../core/errors.ts";
import { isSameSecret } from "../../core/random_secrets.ts";
import type { ListeningServer } from "../../http/address.ts";
import { bearerOf } from "../../http/authentication.ts";
import { watchAddress } from "../../http/rate_limits.ts";

/** `/operator`, for commands with `--server`: with OPERATOR_TOKEN, and only where that is set. */
export function operatorRoutes(deps: Deps, handle: (request: Request) => Promise<Response>) {
  const serve = ({ request, server }: { request: Request; server: ListeningServer | null }) => {
    admit(deps, request, server);
    return handle(request);
  };
  const hidden = { detail: { hide: true } };
  return new Elysia({ name: "operator" }).all("/operator", serve, hidden).all("/operator/*", serve, hidden);
}

/** Refusals count against the network that they come from. Errors: not_found, unauthorized, rate_limited. */
function admit(deps: Deps, request: Request, server: ListeningServer | null): void {
  const { operator_token } = deps.config;
  if (operator_token === null)
    throw new AppError("not_found", "The operator's paths are off: set OPERATOR_TOKEN on the deployment");
  watchAddress(deps, request, server);
  if (!isSameSecret(bearerOf(request) ?? "", operator_token))
    throw new AppError("unauthorized", "Send OPERATOR_TOKEN as a bearer token");
}
