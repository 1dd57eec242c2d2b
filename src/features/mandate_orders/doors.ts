import type { Context } from "../../context.ts";
import { AppError } from "../../core/errors.ts";
import { refusalPage } from "../../core/house_page.ts";
import { LIMITS } from "../../core/limits.ts";
import { call } from "../../core/operation.ts";
import { decode } from "../../core/validate.ts";
import type { Deps } from "../../deps.ts";
import { page } from "../../http/answers.ts";
import { readFormText } from "../../http/body.ts";
import { openCounter } from "../../http/counter.ts";
import { STATUS } from "../../http/errors.ts";
import { OrderNumber } from "./model.ts";
import { findReturnAddress, showAuthorizationPage, takeSchemeCallback } from "./service.ts";

interface Visit {
  ctx: Context;
  request: Request;
}

/** What the scheme and customers' browsers call: nobody here is signed in, and calls are counted by network. */
export function openSchemeDoors(deps: Deps) {
  const count = openCounter(deps, LIMITS.scheme_callbacks_minute);
  return {
    async callback({ ctx, request }: Visit): Promise<Response> {
      count(ctx);
      await call(ctx, takeSchemeCallback, { body: await readFormText(request, ctx) });
      return new Response("OK", { headers: { "content-type": "text/plain; charset=utf-8" } });
    },
    async comeBack({ ctx, request }: Visit): Promise<Response> {
      count(ctx);
      const order_no = new URLSearchParams(await readFormText(request, ctx)).get("fpx_sellerExOrderNo") ?? "";
      const { location } = await call(ctx, findReturnAddress, decode(OrderNumber, { order_no }));
      return new Response(null, { status: 303, headers: { location, "cache-control": "no-store" } });
    },
    async authorize({ ctx, params }: { ctx: Context; params: { order_no: string } }): Promise<Response> {
      const headers = { "x-frame-options": "DENY" };
      try {
        count(ctx);
        return await page(call(ctx, showAuthorizationPage, params), { headers });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return page(refusalPage(error.message), { status: STATUS[error.kind], headers });
      }
    },
  };
}
