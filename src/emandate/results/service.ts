import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { retention } from "../../app/retention.ts";
import { AppError } from "../../core/errors.ts";
import type { HtmlPage } from "../../core/html.ts";
import { LIMITS } from "../limits.ts";
import { Nothing, strict } from "../../core/schema.ts";
import { exactlyOne } from "../../store/exactly_one.ts";
import { applyResultFile, DECISION_TARGET } from "./result_files.ts";
import { readFpxCallback } from "../merchant_config/verify_callback.ts";
import { openConnector } from "../merchant_config/open_connector.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { authorizationPage } from "./authorization_page.ts";
import { receiveCallback } from "./callbacks.ts";
import { pollBatch } from "./polling.ts";
import { deleteOldCallbacks } from "./callback_queries.ts";
import { findOrderByNumber } from "../orders/queries.ts";
import { listSchemeOrders } from "../orders/scheme_order_queries.ts";
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

/** Polls the scheme for the orders that are due, and applies the results. May run twice at once. Decision 0095. */
export const pollOrders = operation({
  name: "poll_orders",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const until_ms = performance.now() + LIMITS.mandate_orders_polling_ms;
    // The rest is due again after other companies had their turn.
    while (!ctx.background.is_stopping && performance.now() < until_ms && (await pollBatch(ctx))) {
      // Yields to requests: an embedded database never does.
      await Bun.sleep(0);
    }
    return {};
  },
});

/** Applies a callback of the scheme, which its signature authenticates. Errors: malformed, not_found. Decision 0095. */
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
 * Finds the return address for a browser that comes back from the bank: the one that the order's company has set.
 * Null where there is none, and for unsigned bodies, so that nobody learns which orders exist. Changes nothing.
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
    const order = callback && (await findOrderByNumber(store.read, callback.order_no));
    if (!callback || order?.company_id !== callback.company_id) return { location: null };
    const { return_url } = await findConfig({ q: store.read, scope: order, now });
    if (return_url === null) return { location: null };
    const location = new URL(return_url);
    location.searchParams.set("order_no", callback.order_no);
    return { location: location.href };
  },
});

/**
 * Renders the page from which a customer goes to the bank, for anyone with the order's number, while it awaits the
 * customer. Errors: not_found.
 */
export const showAuthorizationPage = operation({
  name: "show_authorization_page",
  permission: "session:open",
  input: OrderNumber,
  output: Type.Unsafe<HtmlPage>(Type.Any()),
  async run(ctx, { order_no }) {
    const { store, now } = ctx;
    const order = await findOrderByNumber(store.read, order_no);
    if (!order || (order.awaits !== "authorization" && order.awaits !== "confirmation")) {
      throw new AppError("not_found", "There is nothing to authorize here, or not any more");
    }
    const tx = { q: store.read, scope: order, now };
    const { request } = exactlyOne(await listSchemeOrders(tx, [order.id]));
    const connector = await openConnector(ctx, await findConfig(tx), order.connector);
    return authorizationPage(request, connector.authorizationForm(request));
  },
});

/**
 * Runs a scenario of the sandbox. Errors: not_found for an unknown scenario, invalid for the wrong subject, conflict
 * outside the sandbox and for a state that does not allow it. See docs/emandate.md#scenarios.
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
 * Applies banks' decisions on mandates that their customers authorized: CSV, as the results of a collection run.
 * FPX sends them by file only. Every usable line counts, and a second time it changes nothing. Errors: invalid for
 * what is not such a file. Decision 0095.
 */
export const applyMandateDecisions = operation({
  name: "apply_mandate_decisions",
  permission: "emandate:write",
  target: "mandate",
  input: strict({ csv: Type.String() }),
  output: CollectionResults,
  run: (ctx, { csv }) => applyResultFile(ctx, DECISION_TARGET, csv),
});

/** Deletes old callbacks, refused ones included. */
export const pruneSchemeCallbacks = retention({
  name: "prune_scheme_callbacks",
  permission: "emandate:write",
  deletions: [
    ({ q, now }, limit) =>
      deleteOldCallbacks(q, now.subtract({ hours: 24 * LIMITS.scheme_callback_days }), limit),
    ({ q, now }, limit) =>
      deleteOldCallbacks(q, now.subtract({ hours: 24 * LIMITS.scheme_callback_unmatched_days }), limit, {
        only_unmatched: true,
      }),
  ],
});
