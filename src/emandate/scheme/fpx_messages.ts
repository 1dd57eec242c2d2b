import { createSign, createVerify, type KeyObject, type X509Certificate } from "node:crypto";
import fpx from "../../../data/seed/fpx.json" with { type: "json" };
import { LIMITS } from "../limits.ts";
import { compare } from "../../core/money.ts";
import { validityOf } from "../../core/pem.ts";
import { schemeBanks } from "./banks.ts";
import type { OrderKind, SchemeOrder } from "./connector.ts";

// The texts that FPX and a seller send each other. Field names are without their prefix `fpx_`, which stands on
// the wire. See docs/emandate_fpx.md#what-is-known-and-what-is-not.

/** A message's fields by name. Those that are not named count as empty. */
export type Fields = Readonly<Record<string, string>>;

export type MessageType = keyof typeof fpx.checksums;

/** As whom a seller speaks. */
export interface Seller {
  exchange_id: string;
  seller_id: string;
  seller_bank_code: string;
  version: string;
}

const ZONE = "Asia/Kuala_Lumpur";

/** What the scheme is asked for by the message AD. Debits have no message: they go by file. */
export const APPLICATION: Record<Exclude<OrderKind, "debit">, string> = {
  enrolment: "01",
  amendment: "02",
  termination: "03",
};

/** New identity card: the only kind of number that is asked of customers. */
const ID_TYPE = "1";

/** The fields of AD, by which a customer authorizes an order, or of AE, by which its state is asked. */
export function orderMessage(
  type: "AD" | "AE",
  { exchange_id, seller_id, seller_bank_code, version }: Seller,
  order: SchemeOrder & { kind: Exclude<OrderKind, "debit"> },
): Fields {
  const { mandate, submitted_at, order_no, amount, description } = order;
  const { customer_ic_number, max_no_debit, frequency_mode } = mandate;
  const asked_on = submitted_at.toZonedDateTimeISO(ZONE);
  const effective = shortDate(mandate.effective_date ?? asked_on.toPlainDate().toString());
  const expiry = mandate.expiry_date === null ? "" : shortDate(mandate.expiry_date);
  const application = APPLICATION[order.kind];
  const buyer_id = customer_ic_number === null ? "" : `${customer_ic_number},${ID_TYPE}`;
  return {
    msgType: type,
    msgToken: tokenOf(order),
    sellerExId: exchange_id,
    sellerExOrderNo: order_no,
    // As unique as the exchange's: the scheme refuses a seller's number that it has seen (45).
    sellerOrderNo: order_no,
    sellerTxnTime: asked_on.toPlainDateTime().toString({ smallestUnit: "second" }).replaceAll(/\D/g, ""),
    sellerId: seller_id,
    sellerBankCode: seller_bank_code,
    txnCurrency: "MYR",
    txnAmount: amount,
    buyerEmail: fitField("buyerEmail", mandate.customer_email),
    buyerName: fitField("buyerName", plain(mandate.customer_name), "cut"),
    buyerBankId: mandate.bank_code ?? "",
    buyerBankBranch: "",
    buyerAccNo: "",
    buyerId: fitField("buyerId", buyer_id),
    // Application type, phone, maximum frequency, frequency mode, first day, last day.
    buyerIban: [application, "", max_no_debit, frequency_mode, effective, expiry].join(","),
    makerName: "",
    productDesc: fitField("productDesc", plain(description ?? mandate.reference), "cut"),
    version,
    ...(type === "AE"
      ? {}
      : {
          buyerID: customer_ic_number ?? "",
          maxFreq: max_no_debit,
          freqMode: frequency_mode,
          effectiveDate: effective,
          appType: application,
        }),
  };
}

/** The fields of BE, by which the banks of one kind of account are asked for. */
export function bankListMessage(msgToken: "01" | "02", { exchange_id, version }: Seller): Fields {
  return { msgToken, msgType: "BE", sellerExId: exchange_id, version };
}

/** 02 where a company's account is debited: at a bank for companies only, or beyond what a person may allow. */
function tokenOf({ mandate: { bank_code, max_amount } }: SchemeOrder): "01" | "02" {
  const types = new Set(
    schemeBanks({ with_tests: true }).flatMap((bank) => (bank.bank_code === bank_code ? [bank.type] : [])),
  );
  if (!types.has("B2B1")) return "01";
  return types.has("B2C") && compare(max_amount, PERSONAL_MAXIMUM) <= 0 ? "01" : "02";
}

/** The most that a person's mandate may allow, in MYR. */
const PERSONAL_MAXIMUM = "30000.00";

/** `2026-11-21` → `211126`. */
function shortDate(date: string): string {
  const [year = "", month = "", day = ""] = date.split("-");
  return `${day}${month}${year.slice(-2)}`;
}

/** Letters as the scheme can take them: accents go, and what has no plain form becomes a space. */
function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^\x20-\x7E]|\|/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
}

/** A value that keeps to the scheme's length: what is too long is cut, or left out where a part means nothing. */
function fitField(
  name: keyof typeof fpx.lengths,
  value: string,
  too_long: "cut" | "left out" = "left out",
): string {
  const most = fpx.lengths[name];
  if (value.length <= most) return value;
  return too_long === "cut" ? value.slice(0, most).trim() : "";
}

// Checksums.

/** What a message's checksum is made over. Source: data/seed/fpx.json, in the order that it gives. */
export function checksumText(type: MessageType, fields: Fields): string {
  return fpx.checksums[type].fields.map((name) => fields[name] ?? "").join("|");
}

/** A message as it is sent: every name with its prefix, and the checksum. */
export function signMessage(type: MessageType, fields: Fields, key: KeyObject): Record<string, string> {
  const checkSum = createSign("RSA-SHA1").update(checksumText(type, fields)).sign(key, "hex").toUpperCase();
  return Object.fromEntries(
    Object.entries({ ...fields, checkSum }).map(([name, value]) => [`fpx_${name}`, value]),
  );
}

/** A message that can't be believed or read; its message says why. */
export class InvalidMessage extends Error {}

/**
 * Reads a message of the scheme and believes it: it is of the type, and signed by the certificate while that was
 * valid. Fields that nobody knows are passed over. Errors: BadMessage.
 */
export function readMessage(
  type: MessageType,
  text: string,
  certificate: X509Certificate,
  now: Temporal.Instant,
): Fields {
  const fields = parseMessage(text);
  const { checkSum = "" } = fields;
  const { from, to } = validityOf(certificate);
  if (Temporal.Instant.compare(now, from) < 0 || Temporal.Instant.compare(now, to) > 0) {
    throw new InvalidMessage("the scheme's certificate is not valid now");
  }
  // Values that hold the separator could be read as others under the same checksum.
  if (fpx.checksums[type].fields.some((name) => fields[name]?.includes("|"))) {
    throw new InvalidMessage("a value holds the separator |");
  }
  const is_signed =
    /^([0-9A-Fa-f]{2}){128,2048}$/.test(checkSum) &&
    createVerify("RSA-SHA1")
      .update(checksumText(type, fields))
      .verify(certificate.publicKey, checkSum, "hex");
  if (!is_signed) throw new InvalidMessage("the checksum is not the scheme's");
  if (fields.msgType !== type) throw new InvalidMessage(`the message is not of type ${type}`);
  return fields;
}

/** Fields of `name=value&…`, as forms send them. Errors: BadMessage for what is too much, or twice there. */
export function parseMessage(text: string): Fields {
  if (text.length > LIMITS.scheme_answer_bytes) throw new InvalidMessage("the message is too long");
  const trimmed = text.trim();
  if (trimmed.split("&", LIMITS.scheme_message_fields + 1).length > LIMITS.scheme_message_fields) {
    throw new InvalidMessage("the message has too many fields");
  }
  const fields = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(trimmed)) {
    if (!name.startsWith("fpx_")) continue;
    const known = name.slice("fpx_".length);
    if (fields.has(known)) throw new InvalidMessage(`the field ${name} is there twice`);
    fields.set(known, value);
  }
  return Object.fromEntries(fields);
}

/** `A0001~A,B0002~B` of BC: which banks are online. Errors: BadMessage. */
export function readBankList(list: string): Map<string, "online" | "offline"> {
  const entries = list.split(",").filter((entry) => entry.trim() !== "");
  if (entries.length > LIMITS.banks) throw new InvalidMessage("the list has too many banks");
  return new Map(
    entries.map((entry) => {
      const [, code, state] = /^\s*([A-Za-z0-9]{1,10})~([AB])\s*$/.exec(entry) ?? [];
      if (code === undefined) throw new InvalidMessage("the list of banks can't be read");
      return [code, state === "A" ? "online" : "offline"];
    }),
  );
}
