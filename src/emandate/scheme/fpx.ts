import type { KeyObject, X509Certificate } from "node:crypto";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { type Decimal, fromMinorUnits, toMinorUnits } from "../../core/money.ts";
import { schemeBanks } from "./banks.ts";
import {
  APPLICATION,
  InvalidMessage,
  bankListMessage,
  type Fields,
  orderMessage,
  readBankList,
  readMessage,
  type Seller,
  signMessage,
} from "./fpx_messages.ts";
import { postForm, type PostOptions } from "./http_post.ts";
import { resultOf, resultWithoutCode } from "./response_codes.ts";
import type {
  AuthorizationForm,
  OrderKind,
  SchemeBank,
  SchemeCallback,
  SchemeConnector,
  SchemeOrder,
  SchemeResult,
} from "./connector.ts";

/** A company's account with FPX: its identity, its key and the scheme's certificate. */
export interface FpxAccount extends Seller {
  /** The origin of the scheme's endpoints. */
  url: string;
  private_key: KeyObject;
  certificate: X509Certificate;
}

/** Orders that the customer authorizes in the browser. */
type AuthorizedOrder = SchemeOrder & { kind: Exclude<OrderKind, "debit"> };

const RECEIVER = "/FPXMain/seller2DReceiver.jsp";
const STATUS = "/FPXMain/sellerNVPTxnStatus.jsp";
const BANK_LIST = "/FPXMain/RetrieveBankList";

/** The code of AE for an unknown transaction: the customer may still be on the way to the bank. */
const NOT_FOUND = "76";

/** The only retriable failure that is not a fault of the system. */
const NO_FUNDS = "51";

/** Status queries that run at once. */
const QUERIES_AT_ONCE = 8;

/** The FPX scheme for one company. See docs/emandate_fpx.md#what-is-known-and-what-is-not. */
export function fpx(account: FpxAccount, options: PostOptions = {}): SchemeConnector {
  const { url, private_key, certificate } = account;

  function authorizationForm(order: SchemeOrder): AuthorizationForm | null {
    if (!isAuthorized(order)) return null;
    return {
      action: `${url}${RECEIVER}`,
      fields: signMessage("AD", orderMessage("AD", account, order), private_key),
    };
  }

  async function queryOrder(order: SchemeOrder, now: Temporal.Instant): Promise<SchemeResult> {
    // Banks' decisions and the results of debits come by file.
    if (!isAuthorized(order) || order.awaits === "approval") return pending("Waiting for the bank's file");
    const sent = signMessage("AE", orderMessage("AE", account, order), private_key);
    const { text, problem } = await postForm(`${url}${STATUS}`, sent, options);
    if (problem !== undefined) return pending(problem);
    const read = verified(() => readConfirmation(account, text, now));
    if (read.problem !== undefined) return pending(read.problem);
    const { order_no, amount, result } = read.value;
    if (order_no !== order.order_no) return pending("the answer is about another order");
    if (toMinorUnits(amount) !== toMinorUnits(order.amount))
      return pending("the answer is about another amount");
    return statusOf(result);
  }

  async function listBanksOf(msgToken: "01" | "02", now: Temporal.Instant): Promise<SchemeBank[] | null> {
    const sent = signMessage("BE", bankListMessage(msgToken, account), private_key);
    const { text } = await postForm(`${url}${BANK_LIST}`, sent, options);
    if (text === undefined) return null;
    const read = verified(() => {
      const fields = readMessage("BC", text, certificate, now);
      if (fields.sellerExId !== account.exchange_id || fields.msgToken !== msgToken) {
        throw new InvalidMessage("the list is for another");
      }
      return readBankList(fields.bankList ?? "");
    });
    return read.problem === undefined ? banksOf(msgToken === "01" ? "B2C" : "B2B1", read.value) : null;
  }

  return {
    name: "fpx",
    async listBanks(now) {
      const [personal, corporate] = await Promise.all([listBanksOf("01", now), listBanksOf("02", now)]);
      return personal === null || corporate === null ? null : [...personal, ...corporate];
    },
    startEnrolment: awaitCustomer,
    amend: awaitCustomer,
    terminate: awaitCustomer,
    authorizationForm,
    collect: async (orders) =>
      new Map(orders.map(({ order_no }) => [order_no, pending("Listed in the collection file")])),
    async queryStatus(orders, now) {
      const results = new Map<string, SchemeResult>();
      const waiting = [...orders];
      const until_ms = performance.now() + LIMITS.mandate_orders_polling_ms;
      const queryNext = async (): Promise<void> => {
        while (performance.now() < until_ms) {
          const order = waiting.shift();
          if (order === undefined) return;
          results.set(order.order_no, await queryOrder(order, now));
        }
      };
      await Promise.all(Array.from({ length: QUERIES_AT_ONCE }, queryNext));
      return results;
    },
    parseCallback: (raw_body, now) => readCallback(account, raw_body, now),
  };
}

/** The result of a status query: a complaint about the query itself, or a system that is down, is no news. */
function statusOf(result: SchemeResult): SchemeResult {
  if (result.code === NOT_FOUND)
    return { ...result, status: "pending", is_about_message: false, is_idle: true };
  const is_system = result.is_retriable && result.code !== NO_FUNDS;
  return is_system ? { ...result, status: "pending", is_retriable: false, is_idle: true } : result;
}

/** Sends nothing: the customer's browser posts the form. */
async function awaitCustomer(order: SchemeOrder): Promise<SchemeResult> {
  if (order.mandate.bank_code === null) {
    return { ...pending("The customer's bank is not known"), status: "failed" };
  }
  return pending("Waiting for the customer's authorization");
}

/** The part of an account that verifies the scheme's messages. */
export type SellerIdentity = Pick<FpxAccount, "exchange_id" | "seller_id" | "certificate">;

/** Verifies and reads a callback, the message AC. Errors: malformed, without details of the signature. */
export function readCallback(
  account: SellerIdentity,
  raw_body: string,
  now: Temporal.Instant,
): SchemeCallback {
  const read = verified(() => readConfirmation(account, raw_body, now));
  if (read.problem !== undefined)
    throw new AppError("malformed", `Cannot take the callback: ${read.problem}`);
  return read.value;
}

/** Errors: InvalidMessage. */
function readConfirmation(account: SellerIdentity, text: string, now: Temporal.Instant): SchemeCallback {
  const fields: Fields = readMessage("AC", text, account.certificate, now);
  if (fields.sellerExId !== account.exchange_id || fields.sellerId !== account.seller_id) {
    throw new InvalidMessage("it is for another seller");
  }
  const { sellerExOrderNo = "", txnAmount = "", txnCurrency, debitAuthCode = "", fpxTxnId = "" } = fields;
  const { buyerIban = "" } = fields;
  if (!/^[\x21-\x7E]{1,40}$/.test(sellerExOrderNo))
    throw new InvalidMessage("the order's number can't be read");
  if (txnCurrency !== "MYR") throw new InvalidMessage("the currency is not MYR");
  if (!/^[A-Z0-9]{2}$/.test(debitAuthCode)) throw new InvalidMessage("the response code can't be read");
  const scheme_txn_id = /^[\x21-\x7E]{1,40}$/.test(fpxTxnId) ? fpxTxnId : null;
  const [application] = buyerIban.split(",");
  return {
    order_no: sellerExOrderNo,
    amount: readAmount(txnAmount),
    // For a termination this is its answer; for another order it says that the mandate was ended.
    result: {
      ...resultOf(debitAuthCode, scheme_txn_id),
      answers: application === APPLICATION.termination ? "end" : "first",
    },
  };
}

/** Errors: InvalidMessage. */
function readAmount(text: string): Decimal {
  if (!/^\d{1,10}(\.\d{1,2})?$/.test(text)) throw new InvalidMessage("the amount can't be read");
  return fromMinorUnits(toMinorUnits(text));
}

function isAuthorized(order: SchemeOrder): order is AuthorizedOrder {
  return order.kind !== "debit";
}

/** The known banks with the status in the list; unlisted ones are offline, new ones are named by their code. */
function banksOf(type: SchemeBank["type"], list: Map<string, SchemeBank["status"]>): SchemeBank[] {
  const known = schemeBanks({ with_tests: false }).filter((bank) => bank.type === type);
  const codes = new Set(known.map(({ bank_code }) => bank_code));
  return [
    ...known.map((bank) => ({ ...bank, status: list.get(bank.bank_code) ?? "offline" })),
    ...[...list]
      .filter(([bank_code]) => !codes.has(bank_code))
      .map(([bank_code, status]) => ({
        bank_code,
        bank_name: bank_code,
        display_name: bank_code,
        type,
        status,
      })),
  ];
}

function pending(message: string): SchemeResult {
  return { ...resultWithoutCode("pending", message), answers: "first" };
}

/** The value of `read`, or the problem of an invalid message. */
function verified<T>(read: () => T): { value: T; problem?: undefined } | { problem: string } {
  try {
    return { value: read() };
  } catch (error) {
    if (error instanceof InvalidMessage) return { problem: error.message };
    throw error;
  }
}
