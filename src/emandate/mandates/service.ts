import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { scopeOf } from "../../core/access.ts";
import { AppError, invalid, notFound } from "../../core/errors.ts";
import { dayAt, startOfDay } from "../working_days.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { readIcNumber, readPhone } from "../../core/malaysia.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import { iso } from "../../core/time.ts";
import { KeyedMutex } from "../../core/keyed_mutex.ts";
import type { Queries, ReadTx } from "../../store/store.ts";
import { recordSystemChanges } from "../../audit/recorder.ts";
import { findBanks } from "../merchant_config/banks.ts";
import { findConfig } from "../merchant_config/queries.ts";
import { findOrCreateCustomer } from "../customers/queries.ts";
import { findEmandateProduct } from "../products/queries.ts";
import { findLastOrder } from "../orders/queries.ts";
import { countOpenCollections } from "../payments/open_queries.ts";
import { listPayments } from "../payments/queries.ts";
import { applyAmendment, termsOf } from "./amendments.ts";
import { submitMandateOrder } from "./submit_order.ts";
import {
  AmendmentPreview,
  AmendMandate,
  AuthorizeMandate,
  CreateMandate,
  ListMandates,
  Mandate,
  MandateAction,
  MandateDetail,
  type MandateTrigger,
} from "./model.ts";
import { transitionMandate, recordMandateEvent } from "./transition.ts";
import * as queries from "./queries.ts";
import {
  debitAmount,
  frequencyOf,
  isInForce,
  type MandateChange,
  requireTransition,
  type Terms,
} from "./rules.ts";
import { withdrawRequest } from "./withdraw_request.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { nextCollection } from "../schedule.ts";
import type { Amendment } from "../orders/model.ts";

/** Lists mandates, newest first, always by pages. */
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

/** Finds one mandate with its last payments and what happened to it. Errors: not_found. */
export const getMandate = operation({
  name: "get_mandate",
  permission: "emandate:read",
  input: ById,
  output: MandateDetail,
  async run(ctx, { id }) {
    const mandate = await findSettled(readTx(ctx), id);
    const newest = { limit: LIMITS.mandate_payments, offset: 0 };
    const [payments, events, order] = await Promise.all([
      listPayments(readTx(ctx), { mandate_id: id }, newest),
      queries.listMandateEvents(readTx(ctx), id, LIMITS.mandate_events),
      findLastOrder(readTx(ctx), { mandate_id: id }),
    ]);
    return { ...mandate, order_no: order?.order_no ?? null, payments: payments.rows, events };
  },
});

/** Each mandate of a company has the number after the last one: those made at once would undo each other. */
const numbering = new KeyedMutex<number>();

/** What a mandate may say where it is made after no product: as much as the scheme takes, once a period. */
const SCHEME_TERMS: Terms = { max_amount: LIMITS.emandate_amount_max, max_no_debit: "1", frequency: null };

/**
 * Creates a mandate, not yet authorized, for the customer with this email, who is made when new. It keeps the terms
 * that its product has now. Errors: invalid for a product that is none of the company's, deleted or inactive, for an
 * amount or a frequency that the product does not have, and for an IC number that is not the customer's.
 * Decision 0093.
 */
export const createMandate = operation({
  name: "create_mandate",
  permission: "emandate:write",
  input: CreateMandate,
  output: Mandate,
  run({ store, actor, now }, input) {
    const scope = scopeOf(actor);
    const { customer_name: name, customer_email: email, customer_phone, customer_ic_number } = input;
    const customer_fields = {
      name,
      email,
      ...(customer_phone === undefined ? {} : { phone: readPhone(customer_phone, "/customer_phone") }),
      ...(customer_ic_number === undefined
        ? {}
        : { ic_number: readIcNumber(customer_ic_number, "/customer_ic_number") }),
    };
    const create = async (q: Queries) => {
      const { emandate_product_id = null } = input;
      const terms =
        emandate_product_id === null ? SCHEME_TERMS : await findTerms({ q, scope, now }, emandate_product_id);
      const mandate = {
        emandate_product_id,
        max_amount: terms.max_amount,
        max_no_debit: terms.max_no_debit,
        frequency: frequencyOf(input, terms),
        bankscheme_txn_amount: debitAmount(input, terms, emandate_product_id !== null),
        connector: (await findConfig({ q, scope, now })).connector,
      };
      const customer = await findOrCreateCustomer({ q, scope, now }, customer_fields, "/customer_ic_number");
      const made = await queries.insertMandate({ q, scope, now }, { ...mandate, customer_id: customer.id });
      await recordMandateEvent({ q, scope, now }, made, "emandate.mandate.created");
      return findSettled({ q, scope, now }, made.id);
    };
    return numbering.run(scope.company_id, () => store.tx(create));
  },
});

/** Errors: invalid. */
async function findTerms(tx: ReadTx, id: number): Promise<Terms> {
  const product = await findEmandateProduct(tx, id);
  if (!product) throw invalid("/emandate_product_id", "must be a product of the company");
  if (!product.is_active) throw invalid("/emandate_product_id", "must be an active product");
  return product;
}

/**
 * Asks the scheme for a mandate: the answer tells where the customer goes to authorize it. Errors: not_found,
 * conflict where it is neither pending nor failed, invalid for a bank that is unknown, offline, or not named where
 * the scheme must know it. Decision 0093.
 */
export const authorizeMandate = operation({
  name: "authorize_mandate",
  permission: "emandate:write",
  input: AuthorizeMandate,
  output: Mandate,
  async run(ctx, { id, bank_code }) {
    const { store, actor, now } = ctx;
    const scope = scopeOf(actor);
    await submitMandateOrder(ctx, scope, id, "enrolment", async (q) => {
      const mandate = await findStored({ q, scope, now }, id);
      requireTransition(mandate, "authorize");
      await checkBank({ q, scope, now }, mandate, bank_code);
      const bank = bank_code === undefined ? {} : { bank_code };
      return transitionMandate({ q, scope, now }, mandate, "authorize", bank);
    });
    return findSettled({ q: store.read, scope, now }, id);
  },
});

/** Errors: invalid. */
async function checkBank(
  tx: ReadTx,
  { connector, bank_code: known }: queries.StoredMandate,
  bank_code: string | undefined = known ?? undefined,
): Promise<void> {
  if (bank_code === undefined) {
    if (connector === "fpx") throw invalid("/bank_code", "is required: FPX must know the customer's bank");
    return;
  }
  const { banks: all } = await findBanks(tx, connector, tx.now);
  const banks = all.filter((bank) => bank.bank_code === bank_code);
  if (banks.length === 0) throw invalid("/bank_code", "must be a bank of the scheme");
  if (banks.every(({ status }) => status === "offline"))
    throw invalid("/bank_code", "must be a bank that is online");
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
 * Resumes a suspended mandate, whose failures are forgiven; periods that passed meanwhile are not collected.
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

/** An action that the scheme need not know of. */
function act(
  ctx: Context,
  { id, reason }: { id: number; reason?: string },
  trigger: MandateTrigger,
  changeOf: (mandate: queries.StoredMandate) => MandateChange = () => ({}),
): Promise<Mandate> {
  return transaction(ctx, async (tx) => {
    const mandate = await findStored(tx, id);
    await transitionMandate(tx, mandate, trigger, { ...changeOf(mandate), reason });
    return findSettled(tx, id);
  });
}

/**
 * Asks the scheme to end a mandate; payments that are not yet submitted are cancelled. Errors: not_found, conflict
 * unless it is active or suspended. See docs/emandate.md#states.
 */
export const terminateMandate = operation({
  name: "terminate_mandate",
  permission: "emandate:write",
  input: MandateAction,
  output: Mandate,
  async run(ctx, { id, reason }) {
    const { store, actor, now } = ctx;
    const scope = scopeOf(actor);
    await submitMandateOrder(ctx, scope, id, "termination", async (q) => {
      const mandate = await findStored({ q, scope, now }, id);
      return transitionMandate({ q, scope, now }, mandate, "terminate", { reason });
    });
    return findSettled({ q: store.read, scope, now }, id);
  },
});

/**
 * Asks the scheme to change what each debit takes, how often, or the last day; the mandate stays as it is until the
 * bank took it. Errors: not_found, conflict unless it is in force and no other change is awaited, invalid where
 * nothing is to be changed. Decision 0094.
 */
export const amendMandate = operation({
  name: "amend_mandate",
  permission: "emandate:write",
  input: AmendMandate,
  output: Mandate,
  async run(ctx, { id, ...amendment }) {
    const { store, actor, now } = ctx;
    const scope = scopeOf(actor);
    checkAmendment(amendment, dayAt(now));
    await submitMandateOrder(ctx, scope, id, "amendment", async (q) => {
      const mandate = await findStored({ q, scope, now }, id);
      checkAmendable(mandate);
      const change = { amendment, application_type: "02" as const };
      return (await queries.updateMandate({ q, scope, now }, mandate, change)) ?? mandate;
    });
    return findSettled({ q: store.read, scope, now }, id);
  },
});

/**
 * Takes back what the bank was asked and has not answered: an end, else a change. The mandate stands as before; an
 * answer that comes all the same counts. Errors: not_found, conflict where neither is awaited. Decision 0136.
 */
export const withdrawMandateRequest = operation({
  name: "withdraw_mandate_request",
  permission: "emandate:write",
  target: "mandate",
  input: MandateAction,
  output: Mandate,
  run(ctx, { id, reason = null }) {
    return transaction(ctx, async (tx) => {
      await withdrawRequest(tx, await findStored(tx, id), reason);
      return findSettled(tx, id);
    });
  },
});

/**
 * Tells what a change would come to if the bank took it today: what the mandate would say, and when it would be
 * collected. Asks nobody and changes nothing. Errors: as `amendMandate`. Decision 0141.
 */
export const previewAmendment = operation({
  name: "preview_amendment",
  permission: "emandate:read",
  input: AmendMandate,
  output: AmendmentPreview,
  async run(ctx, { id, ...amendment }) {
    const today = dayAt(ctx.now);
    checkAmendment(amendment, today);
    const mandate = await findStored(readTx(ctx), id);
    checkAmendable(mandate);
    const taken = applyAmendment(mandate, amendment, today, await findConfig(readTx(ctx)));
    const days = taken.due.filter(({ status }) => status === "scheduled");
    const waiting_payments = amendment.amount === undefined ? 0 : await countOpenCollections(readTx(ctx), id);
    return {
      before: termsOf(mandate, today),
      after: termsOf({ ...mandate, ...taken.terms }, today),
      due: days.map(({ due_date }) => due_date),
      waiting_payments,
    };
  },
});

/** Errors: invalid. */
function checkAmendment(amendment: Amendment, today: Temporal.PlainDate): void {
  if (Object.keys(amendment).length === 0) {
    throw invalid("", "must have at least one of amount, frequency and expiry_date");
  }
  checkLastDay(amendment.expiry_date, today);
}

/** Errors: conflict. */
function checkAmendable({ id, status, amendment }: queries.StoredMandate): void {
  if (!isInForce(status)) throw new AppError("conflict", `Cannot amend mandate ${id}: it is ${status}`);
  if (amendment === null) return;
  throw new AppError("conflict", `Cannot amend mandate ${id}: the bank has not answered the last change`);
}

/** Errors: invalid. */
function checkLastDay(expiry_date: string | undefined, today: Temporal.PlainDate): void {
  if (expiry_date === undefined) return;
  const latest = today.add({ years: LIMITS.mandate_years_ahead }).toString();
  if (expiry_date < today.toString() || expiry_date > latest) {
    throw invalid("/expiry_date", `must be from ${today.toString()} to ${latest}`);
  }
}

/** Ends the mandates whose last day has passed; may run twice. See docs/emandate.md#states. */
export const expireMandates = operation({
  name: "expire_mandates",
  permission: "emandate:write",
  unaudited: true,
  input: Nothing,
  output: Nothing,
  async run(ctx) {
    const { store, actor, now, background } = ctx;
    const scope = scopeOf(actor);
    while (!background.is_stopping) {
      const expired = await store.tx(async (q) => {
        const mandates = await queries.listExpired({ q, scope, now }, LIMITS.mandate_orders_batch);
        for (const mandate of mandates) {
          await transitionMandate({ q, scope, now }, mandate, "expire", {
            reason: "Its last day has passed",
          });
        }
        const changed = mandates.map(({ id }) => ({ target: { type: "mandate", id } }));
        await recordSystemChanges(ctx, q, scope, "expire_mandate", changed);
        return mandates.length;
      });
      if (expired < LIMITS.mandate_orders_batch) break;
      await Bun.sleep(0);
    }
    return {};
  },
});

/** Errors: not_found. */
async function findStored(tx: ReadTx, id: number): Promise<queries.StoredMandate> {
  const mandate = await queries.findStoredMandate(tx, id);
  if (!mandate) throw notFound("Mandate", id);
  return mandate;
}

/** Errors: not_found. */
async function findSettled(tx: ReadTx, id: number): Promise<Mandate> {
  const mandate = await queries.findMandate(tx, id);
  if (!mandate) throw notFound("Mandate", id);
  return mandate;
}
