import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { recordSystemChanges } from "../../audit/recorder.ts";
import { scopeOf } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { KeyedMutex } from "../../core/keyed_mutex.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { readIcNumber, readPhone } from "../../core/malaysia.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import type { ReadTx, Tx } from "../../store/store.ts";
import { findOrCreateCustomer } from "../customers/queries.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { findLastOrder } from "../orders/queries.ts";
import { listPayments } from "../payments/queries.ts";
import { findEmandateProduct } from "../products/queries.ts";
import { nextCollection } from "../schedule.ts";
import { dayAt, startOfDay } from "../working_days.ts";
import {
  CreateMandate,
  ListMandates,
  Mandate,
  MandateAction,
  MandateDetail,
  type MandateTrigger,
} from "./model.ts";
import * as queries from "./queries.ts";
import { debitAmount, frequencyOf, type MandateChange, type Terms } from "./rules.ts";
import { recordMandateEvent, transitionMandate } from "./transition.ts";

/** Lists mandates, newest first, always in pages. */
export const listMandates = operation({
  name: "list_mandates",
  permission: "emandate:read",
  input: ListMandates,
  output: paged(Mandate),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listMandates(readTx(ctx), filter, slice),
    ),
});

/** Finds one mandate with its last payments and its history. Errors: not_found. */
export const getMandate = operation({
  name: "get_mandate",
  permission: "emandate:read",
  input: ById,
  output: MandateDetail,
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const mandate = await queries.requireMandate(tx, id);
    const [payments, events, order] = await Promise.all([
      listPayments(tx, { mandate_id: id }, { limit: LIMITS.mandate_payments, offset: 0 }),
      queries.listMandateEvents(tx, id, LIMITS.mandate_events),
      findLastOrder(tx, { mandate_id: id }),
    ]);
    return { ...mandate, order_no: order?.order_no ?? null, payments: payments.rows, events };
  },
});

/** One creation at a time per company: each mandate takes the number after the last one. */
const numbering = new KeyedMutex<number>();

/** The terms of a mandate without a product: the scheme's own limit, one debit a period. */
const SCHEME_TERMS: Terms = { max_amount: LIMITS.emandate_amount_max, max_no_debit: "1", frequency: null };

/**
 * Creates a mandate, not yet authorized, with the terms that its product has now. The customer is found by email, or
 * created. Errors: invalid for a product that is not the company's, deleted or inactive, for an amount or a frequency
 * that the product does not allow, and for an IC number that is not the customer's. Decision 0093.
 */
export const createMandate = operation({
  name: "create_mandate",
  permission: "emandate:write",
  input: CreateMandate,
  output: Mandate,
  run(ctx, input) {
    const { customer_name: name, customer_email: email, customer_phone, customer_ic_number } = input;
    const customer_fields = {
      name,
      email,
      ...(customer_phone === undefined ? {} : { phone: readPhone(customer_phone, "/customer_phone") }),
      ...(customer_ic_number === undefined
        ? {}
        : { ic_number: readIcNumber(customer_ic_number, "/customer_ic_number") }),
    };
    const create = async (tx: Tx) => {
      const { emandate_product_id = null } = input;
      const terms = emandate_product_id === null ? SCHEME_TERMS : await findTerms(tx, emandate_product_id);
      const { max_amount, max_no_debit } = terms;
      const frequency = frequencyOf(input, terms);
      const bankscheme_txn_amount = debitAmount(input, terms, emandate_product_id !== null);
      const { connector } = await findConfig(tx);
      const { id: customer_id } = await findOrCreateCustomer(tx, customer_fields, "/customer_ic_number");
      const mandate = await queries.insertMandate(tx, {
        customer_id,
        emandate_product_id,
        connector,
        bankscheme_txn_amount,
        max_amount,
        max_no_debit,
        frequency,
      });
      await recordMandateEvent(tx, mandate, "emandate.mandate.created");
      return queries.requireMandate(tx, mandate.id);
    };
    return numbering.run(scopeOf(ctx.actor).company_id, () => transaction(ctx, create));
  },
});

/** Errors: invalid. */
async function findTerms(tx: ReadTx, id: number): Promise<Terms> {
  const product = await findEmandateProduct(tx, id);
  if (!product) throw invalid("/emandate_product_id", "must be a product of the company");
  if (!product.is_active) throw invalid("/emandate_product_id", "must be an active product");
  return product;
}

/** Suspends a mandate: nothing is debited until it is resumed. Errors: not_found, conflict unless it is active. */
export const suspendMandate = operation({
  name: "suspend_mandate",
  permission: "emandate:write",
  input: MandateAction,
  output: Mandate,
  run: (ctx, input) => act(ctx, input, "suspend"),
});

/**
 * Resumes a suspended mandate and forgives its failures; periods that passed meanwhile are not collected.
 * Errors: not_found, conflict unless it is suspended.
 */
export const resumeMandate = operation({
  name: "resume_mandate",
  permission: "emandate:write",
  input: MandateAction,
  output: Mandate,
  run: (ctx, input) =>
    act(ctx, input, "resume", (mandate) => {
      const next = nextCollection(mandate, dayAt(ctx.now));
      return { next_collection_at: next && iso(startOfDay(next)) };
    }),
});

/**
 * Cancels a mandate that the customer has not authorized. Errors: not_found, conflict once it is authorized.
 * See docs/emandate.md#states.
 */
export const cancelMandate = operation({
  name: "cancel_mandate",
  permission: "emandate:write",
  input: MandateAction,
  output: Mandate,
  run: (ctx, input) => act(ctx, input, "cancel"),
});

/** A transition that needs no order at the scheme. */
function act(
  ctx: Context,
  { id, reason }: { id: number; reason?: string },
  trigger: MandateTrigger,
  changeOf: (mandate: queries.StoredMandate) => MandateChange = () => ({}),
): Promise<Mandate> {
  return transaction(ctx, async (tx) => {
    const mandate = await queries.requireStoredMandate(tx, id);
    await transitionMandate(tx, mandate, trigger, { ...changeOf(mandate), reason });
    return queries.requireMandate(tx, id);
  });
}

/** Expires the mandates whose last day has passed; may run twice at once. See docs/emandate.md#states. */
export const expireMandates = operation({
  name: "expire_mandates",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    while (!ctx.background.is_stopping) {
      const expired = await transaction(ctx, async (tx) => {
        const mandates = await queries.listExpired(tx, LIMITS.mandate_orders_batch);
        for (const mandate of mandates) {
          await transitionMandate(tx, mandate, "expire", { reason: "Its last day has passed" });
        }
        const changed = mandates.map(({ id }) => ({ target: { type: "mandate", id } }));
        await recordSystemChanges(ctx, tx, "expire_mandate", changed);
        return mandates.length;
      });
      if (expired < LIMITS.mandate_orders_batch) break;
      await Bun.sleep(0);
    }
    return {};
  },
});
