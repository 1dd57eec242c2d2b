import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { AppError } from "../../core/errors.ts";
import { errorPage } from "../../core/page_layout.ts";
import { LIMITS } from "../limits.ts";
import { page } from "../../http/responses.ts";
import { readFormText } from "../../http/body.ts";
import { addressRateLimit } from "../../http/rate_limits.ts";
import { STATUS } from "../../http/errors.ts";
import { returnPage } from "./authorization_page.ts";
import { findReturnAddress, showAuthorizationPage, takeSchemeCallback } from "./service.ts";

interface CallbackRequest {
  ctx: Context;
  request: Request;
}

/** Endpoints for the scheme and customers' browsers: without sign-in, and rate limited by network address. */
export function callbackEndpoints(deps: Deps) {
  const limitRate = addressRateLimit(deps, LIMITS.scheme_callbacks_minute);
  return {
    callback: async ({ ctx, request }: CallbackRequest): Promise<Response> => {
      limitRate(ctx);
      await call(ctx, takeSchemeCallback, { body: await readFormText(request, ctx) });
      return new Response("OK", { headers: { "content-type": "text/plain; charset=utf-8" } });
    },
    redirectBack: ({ ctx, request }: CallbackRequest): Promise<Response> =>
      htmlResponse(async () => {
        limitRate(ctx);
        const body = await readFormText(request, ctx);
        const { location } = await call(ctx, findReturnAddress, { body });
        if (location === null) return page(returnPage(), { headers: DENY_FRAMES });
        return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
      }),
    authorize: ({ ctx, input }: { ctx: Context; input: { order_no: string } }): Promise<Response> =>
      htmlResponse(() => {
        limitRate(ctx);
        return page(call(ctx, showAuthorizationPage, input), { headers: DENY_FRAMES });
      }),
  };
}

const DENY_FRAMES = { "x-frame-options": "DENY" };

/** Responds to a browser, with errors as a page. */
async function htmlResponse(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { kind, message, retry_after_s } = error;
    const headers = retry_after_s === undefined ? {} : { "retry-after": String(retry_after_s) };
    return page(errorPage(message), { status: STATUS[kind], headers: { ...DENY_FRAMES, ...headers } });
  }
}
