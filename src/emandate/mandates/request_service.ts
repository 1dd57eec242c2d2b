import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import type { ReadTx } from "../../store/store.ts";
import { findBanks } from "../merchant_config/banks.ts";
import { findConfig } from "../merchant_config/queries.ts";
import type { Amendment } from "../orders/model.ts";
import { countOpenCollections } from "../payments/open_queries.ts";
import { dayAt } from "../working_days.ts";
import { applyAmendment, termsOf } from "./amendments.ts";
import { AmendmentPreview, AmendMandate, AuthorizeMandate, Mandate, MandateAction } from "./model.ts";
import { requireMandate, requireStoredMandate, type StoredMandate, updateMandate } from "./queries.ts";
import { isInForce, requireTransition } from "./rules.ts";
import { submitMandateOrder } from "./submit_order.ts";
import { transitionMandate } from "./transition.ts";
import { withdrawRequest } from "./withdraw_request.ts";

// What the bank must agree to: enrolments, amendments and terminations.

/**
 * Requests the authorization of a mandate; the response has the address where the customer gives it. Errors:
 * not_found, conflict where it is neither pending nor failed, invalid for a bank that is unknown, offline, or missing
 * where the scheme needs it. Decision 0093.
 */
export const authorizeMandate = operation({
  name: "authorize_mandate",
  permission: "emandate:write",
  input: AuthorizeMandate,
  output: Mandate,
  async run(ctx, { id, bank_code }) {
    await submitMandateOrder(ctx, id, "enrolment", async (tx, mandate) => {
      requireTransition(mandate, "authorize");
      await checkBank(tx, mandate, bank_code);
      return transitionMandate(tx, mandate, "authorize", bank_code === undefined ? {} : { bank_code });
    });
    return requireMandate(readTx(ctx), id);
  },
});

/** Errors: invalid. */
async function checkBank(
  tx: ReadTx,
  { connector, bank_code: known }: StoredMandate,
  bank_code: string | undefined = known ?? undefined,
): Promise<void> {
  if (bank_code === undefined) {
    if (connector === "fpx") throw invalid("/bank_code", "is required: FPX must know the customer's bank");
    return;
  }
  const { banks: all } = await findBanks(tx, connector);
  const banks = all.filter((bank) => bank.bank_code === bank_code);
  if (banks.length === 0) throw invalid("/bank_code", "must be a bank of the scheme");
  if (banks.every(({ status }) => status === "offline"))
    throw invalid("/bank_code", "must be a bank that is online");
}

/**
 * Asks the bank to end a mandate; payments that are not yet submitted are cancelled. Errors: not_found, conflict
 * unless it is active or suspended. See docs/emandate.md#states.
 */
export const terminateMandate = operation({
  name: "terminate_mandate",
  permission: "emandate:write",
  input: MandateAction,
  output: Mandate,
  async run(ctx, { id, reason }) {
    await submitMandateOrder(ctx, id, "termination", (tx, mandate) =>
      transitionMandate(tx, mandate, "terminate", { reason }),
    );
    return requireMandate(readTx(ctx), id);
  },
});

/**
 * Asks the bank to change the amount, the frequency or the last day of a mandate, which stays as it is until the bank
 * has agreed. Errors: not_found, conflict unless it is in force and awaits no other amendment, invalid where nothing
 * would change. Decision 0094.
 */
export const amendMandate = operation({
  name: "amend_mandate",
  permission: "emandate:write",
  input: AmendMandate,
  output: Mandate,
  async run(ctx, { id, ...amendment }) {
    checkAmendment(amendment, dayAt(ctx.now));
    await submitMandateOrder(ctx, id, "amendment", async (tx, mandate) => {
      checkAmendable(mandate);
      return (await updateMandate(tx, mandate, { amendment, application_type: "02" })) ?? mandate;
    });
    return requireMandate(readTx(ctx), id);
  },
});

/**
 * Withdraws what a mandate awaits from the bank: a termination, else an amendment. A result that comes all the same
 * counts. Errors: not_found, conflict where it awaits neither. Decision 0136.
 */
export const withdrawMandateRequest = operation({
  name: "withdraw_mandate_request",
  permission: "emandate:write",
  target: "mandate",
  input: MandateAction,
  output: Mandate,
  run(ctx, { id, reason = null }) {
    return transaction(ctx, async (tx) => {
      await withdrawRequest(tx, await requireStoredMandate(tx, id), reason);
      return requireMandate(tx, id);
    });
  },
});

/**
 * Previews an amendment as if the bank agreed today: the terms, and the next collection days. Changes nothing.
 * Errors: as `amendMandate`. Decision 0141.
 */
export const previewAmendment = operation({
  name: "preview_amendment",
  permission: "emandate:read",
  input: AmendMandate,
  output: AmendmentPreview,
  async run(ctx, { id, ...amendment }) {
    const tx = readTx(ctx);
    const today = dayAt(ctx.now);
    checkAmendment(amendment, today);
    const mandate = await requireStoredMandate(tx, id);
    checkAmendable(mandate);
    const { terms, due } = applyAmendment(mandate, amendment, today, await findConfig(tx));
    return {
      before: termsOf(mandate, today),
      after: termsOf({ ...mandate, ...terms }, today),
      due: due.filter(({ status }) => status === "scheduled").map(({ due_date }) => due_date),
      waiting_payments: amendment.amount === undefined ? 0 : await countOpenCollections(tx, id),
    };
  },
});

/** Errors: invalid. */
function checkAmendment(amendment: Amendment, today: Temporal.PlainDate): void {
  const { expiry_date } = amendment;
  if (Object.keys(amendment).length === 0) {
    throw invalid("", "must have at least one of amount, frequency and expiry_date");
  }
  if (expiry_date === undefined) return;
  const latest = today.add({ years: LIMITS.mandate_years_ahead }).toString();
  if (expiry_date < today.toString() || expiry_date > latest) {
    throw invalid("/expiry_date", `must be from ${today.toString()} to ${latest}`);
  }
}

/** Errors: conflict. */
function checkAmendable({ id, status, amendment }: StoredMandate): void {
  if (!isInForce(status)) throw new AppError("conflict", `Cannot amend mandate ${id}: it is ${status}`);
  if (amendment === null) return;
  throw new AppError("conflict", `Cannot amend mandate ${id}: it awaits another amendment`);
}
