import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError } from "../../core/errors.ts";
import type { HtmlPage } from "../../core/html.ts";
import { LIMITS } from "../limits.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { Nothing, strict } from "../../core/schema.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import type { Queries } from "../../store/store.ts";
import { applyResults } from "./result_files.ts";
import { readFpxCallback } from "../merchant_config/verify_callback.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig } from "../merchant_config/queries.ts";
import type { OrderResult } from "./apply_to_payment.ts";
import { readResults } from "../scheme/collection_file.ts";
import { applyDecisions } from "./apply_result.ts";
import { authorizationPage } from "./authorization_page.ts";
import { receiveCallback } from "./callbacks.ts";
import { pollBatch } from "./polling.ts";
import { deleteOldCallbacks } from "./callback_queries.ts";
import * as queries from "../orders/queries.ts";
import { runScenarioOn } from "./scenarios.ts";
import { transaction } from "../../app/transaction.ts";
import {
  CollectionResults,
  OrderNumber,
  RanScenario,
  ReturnAddress,
  RunScenario,
  SchemeMessage,
} from "./model.ts";

/**
 * Asks the scheme what became of every order that is due to be asked for, and does what it says. May run twice at
 * once. Decision 0095.
 */
export const pollOrders = operation({
  name: "poll_orders",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const scope = scopeOf(ctx.actor);
    const until_ms = performance.now() + LIMITS.mandate_orders_polling_ms;
    // What is left is due when others had their turn.
    while (!ctx.background.is_stopping && performance.now() < until_ms && (await pollBatch(ctx, scope))) {
      // An embedded database answers without ever leaving the process: requests get their turn in between.
      await Bun.sleep(0);
    }
    return {};
  },
});

/**
 * Takes a callback of the scheme, whose signature is who it is. Errors: malformed, not_found.
 * Decision 0095.
 */
export const takeSchemeCallback = operation({
  name: "take_scheme_callback",
  permission: "session:open",
  input: SchemeMessage,
  output: Nothing,
  async run(ctx, { body }) {
    await receiveCallback(ctx, body);
    return {};
  },
});

/**
 * Where a customer's browser goes that comes back from the bank: the address that the order's company has set, and
 * no other. Null without an address, and for what the scheme has not signed: nobody learns which orders there are.
 * What the browser brings changes nothing.
 */
export const findReturnAddress = operation({
  name: "find_return_address",
  permission: "session:open",
  input: SchemeMessage,
  output: ReturnAddress,
  async run({ store, now }, { body }) {
    const callback = await readFpxCallback(store.read, body, now).catch((error: unknown) => {
      if (error instanceof AppError && error.kind === "malformed") return null;
      throw error;
    });
    const order = callback && (await queries.findOrderByNumber(store.read, callback.order_no));
    if (!callback || order?.company_id !== callback.company_id) return { location: null };
    const { return_url } = await findConfig({ q: store.read, scope: order, now });
    if (return_url === null) return { location: null };
    const location = new URL(return_url);
    location.searchParams.set("order_no", callback.order_no);
    return { location: location.href };
  },
});

/**
 * The page from which a customer goes to the bank, for whoever has the order's number, while the customer is
 * awaited. Errors: not_found.
 */
export const showAuthorizationPage = operation({
  name: "show_authorization_page",
  permission: "session:open",
  input: OrderNumber,
  output: Type.Unsafe<HtmlPage>(Type.Any()),
  async run(ctx, { order_no }) {
    const { store } = ctx;
    const order = await queries.findOrderByNumber(store.read, order_no);
    if (!order || (order.awaits !== "authorization" && order.awaits !== "confirmation")) {
      throw new AppError("not_found", "There is nothing to authorize here, or not any more");
    }
    const { request } = exactlyOne(
      await queries.listSchemeOrders({ q: store.read, scope: order, now: ctx.now }, [order.id]),
    );
    const connector = await openConnector(
      ctx,
      await findConfig({ q: store.read, scope: order, now: ctx.now }),
      order.connector,
    );
    return authorizationPage(request, connector.authorizationForm(request));
  },
});

/**
 * Makes something happen in the sandbox. Errors: not_found for an unknown scenario, invalid for a subject that it
 * is not about, conflict outside of the sandbox and for a state that can't take it. See docs/emandate.md#scenarios.
 */
export const runScenario = operation({
  name: "run_scenario",
  permission: "emandate:write",
  input: RunScenario,
  output: RanScenario,
  run: (ctx, { name, ...subject }) =>
    transaction(ctx, async (tx) => {
      const ran = await runScenarioOn(tx, name, subject);
      const { mandate_id, payment_id } = ran;
      ctx.annotateAudit({
        target:
          payment_id === null
            ? { type: "mandate", id: mandate_id }
            : { type: "mandate_payment", id: payment_id },
      });
      return ran;
    }),
});

/**
 * Applies what banks decided on mandates that their customers authorized: CSV, as the results of a collection run.
 * FPX tells of that by file only. Every line that can be used counts, and a second time it changes nothing.
 * Errors: invalid for what is not such a file. Decision 0095.
 */
export const applyMandateDecisions = operation({
  name: "apply_mandate_decisions",
  permission: "emandate:write",
  target: "mandate",
  input: strict({ csv: Type.String() }),
  output: CollectionResults,
  async run({ store, actor, now }, { csv }) {
    const scope = scopeOf(actor);
    const about = {
      listOrders: (q: Queries, order_nos: readonly string[]) =>
        queries.listMandateOrders({ q, scope, now }, order_nos),
      apply: (q: Queries, results: readonly OrderResult[]) => applyDecisions({ q, scope, now }, results),
      unknown: "order_no is of no mandate",
    };
    return applyResults(store, about, await readResults(csv));
  },
});

/** Forgets old callbacks, refused ones included. */
export const pruneSchemeCallbacks = operation({
  name: "prune_scheme_callbacks",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run({ store, now, background }) {
    const forget = (days: number, only_unmatched: boolean) => {
      const until = now.subtract({ hours: 24 * days });
      return deleteInBatches(background, (limit) =>
        store.tx((q) => deleteOldCallbacks(q, until, limit, { only_unmatched })),
      );
    };
    await forget(LIMITS.scheme_callback_days, false);
    await forget(LIMITS.scheme_callback_nobodys_days, true);
    return {};
  },
});
