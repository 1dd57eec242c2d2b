import { Elysia } from "elysia";
import type { Deps } from "../../app/deps.ts";
import { AppError } from "../../core/errors.ts";
import type { ListeningServer } from "../../http/address.ts";
import { watchAddress } from "../../http/rate_limits.ts";
import { NotOwnerError } from "../../usage_store/clickhouse/owner_calls.ts";
import { LIMITS } from "../limits.ts";
import { errorToWire, INTERNAL, NOT_OWNER } from "./wire.ts";

/** `/internal/…`, for other instances alone: with INSTANCE_URL, and only where that is set. Decision 0374. */
export function internalRoutes(deps: Deps) {
  return new Elysia({ name: "internal" }).post(
    `${INTERNAL}:name`,
    ({ request, server }: { request: Request; server: ListeningServer | null }) =>
      answer(deps, request, server),
    { parse: "none", detail: { hide: true } },
  );
}

async function answer(deps: Deps, request: Request, server: ListeningServer | null): Promise<Response> {
  const { internal, instances, log } = deps;
  const path = new URL(request.url).pathname;
  const perform = internal?.calls.get(path.slice(INTERNAL.length));
  if (internal === null || perform === undefined)
    throw new AppError("not_found", "There is no such path among instances");
  let input: unknown;
  try {
    // Who does not sign makes nothing be read.
    const check = internal.take({ path, to: instances.id }, request.headers.get("authorization"));
    const body = await readBody(request);
    check(body);
    input = JSON.parse(new TextDecoder().decode(body));
  } catch (error) {
    // Strangers count against the network that they come from.
    watchAddress(deps, request, server);
    throw error;
  }
  try {
    return Response.json({ data: (await perform(input)) ?? null });
  } catch (error) {
    if (error instanceof NotOwnerError) return Response.json({}, { status: NOT_OWNER });
    if (error instanceof AppError) return errorToWire(error);
    log.error({ err: error, path }, "a call of another instance failed");
    return Response.json({}, { status: 500 });
  }
}

/** Errors: too_large. */
async function readBody(request: Request): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of request.body ?? []) {
    size += piece.byteLength;
    if (size > LIMITS.internal_body_bytes)
      throw new AppError("too_large", `The body is over ${LIMITS.internal_body_bytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
