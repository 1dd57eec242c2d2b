import { createSign, createVerify, type KeyObject, type X509Certificate } from "node:crypto";
import fpx from "../../../data/seed/fpx.json" with { type: "json" };
import { LIMITS } from "../limits.ts";
import { compare } from "../../core/money.ts";
import { validityOf } from "../../core/pem.ts";
import { schemeBanks } from "./banks.ts";
import type { OrderKind, SchemeOrder } from "./connector.ts";

// The messages between FPX and a seller. Field names leave out the prefix `fpx_` of the wire.
// See docs/emandate_fpx.md#what-is-known-and-what-is-not.

/** A message's fields by name; a missing field counts as empty. */
export type Fields = Readonly<Record<string, string>>;

export type MessageType = keyof typeof fpx.checksums;

/** The identity of a seller in messages. */
export interface Seller {
  exchange_id: string;
  seller_id: string;
  seller_bank_code: string;
  version: string;
}

const ZONE = "Asia/Kuala_Lumpur";

/** The application type of each order in the message AD. Debits have no message: they go by file. */
export const APPLICATION: Record<Exclude<OrderKind, "debit">, string> = {
  enrolment: "01",
  amendment: "02",
  termination: "03",
};

/** The type of a new identity card, the only number that customers give. */
const ID_TYPE = "1";

/** The fields of AD, with which a customer authorizes an order, or of AE, its status query. */
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

/** The fields of BE, the query for the banks of one kind of account. */
export function bankListMessage(msgToken: "01" | "02", { exchange_id, version }: Seller): Fields {
  return { msgToken, msgType: "BE", sellerExId: exchange_id, version };
}

/** 02 for a company's account: at a bank for companies only, or above a person's limit. */
function tokenOf({ mandate: { bank_code, max_amount } }: SchemeOrder): "01" | "02" {
  const types = new Set(
    schemeBanks({ with_tests: true }).flatMap((bank) => (bank.bank_code === bank_code ? [bank.type] : [])),
  );
  if (!types.has("B2B1")) return "01";
  return types.has("B2C") && compare(max_amount, PERSONAL_MAXIMUM) <= 0 ? "01" : "02";
}

/** The limit of a person's mandate, in MYR. */
const PERSONAL_MAXIMUM = "30000.00";

/** `2026-11-21` → `211126`. */
function shortDate(date: string): string {
  const [year = "", month = "", day = ""] = date.split("-");
  return `${day}${month}${year.slice(-2)}`;
}

/** Text in plain ASCII, as the scheme takes it: without accents, other characters as spaces. */
function plain(text: string): string {
  return text
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^\x20-\x7E]|\|/g, " ")
    .replaceAll(/ +/g, " ")
    .trim();
}

/** A value within the scheme's length: a longer one is cut, or left out where a part would mean nothing. */
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

/** The text that a message's checksum signs. Source: data/seed/fpx.json, in the order that it gives. */
export function checksumText(type: MessageType, fields: Fields): string {
  return fpx.checksums[type].fields.map((name) => fields[name] ?? "").join("|");
}

/** A signed message as it is sent: every name with its prefix, and the checksum. */
export function signMessage(type: MessageType, fields: Fields, key: KeyObject): Record<string, string> {
  const checkSum = createSign("RSA-SHA1").update(checksumText(type, fields)).sign(key, "hex").toUpperCase();
  return Object.fromEntries(
    Object.entries({ ...fields, checkSum }).map(([name, value]) => [`fpx_${name}`, value]),
  );
}

/** A message that cannot be verified or read; its own message says why. */
export class InvalidMessage extends Error {}

/**
 * Parses and verifies a signed FPX message: of the right type, and signed with the certificate while that is valid.
 * Unknown fields are ignored. Errors: InvalidMessage.
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

/** Parses the fields of a form, `name=value&…`. Errors: InvalidMessage for too many or repeated fields. */
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
    if (fields.has(known)) throw new InvalidMessage(`the field ${name} is repeated`);
    fields.set(known, value);
  }
  return Object.fromEntries(fields);
}

/** Parses the bank list of BC, `A0001~A,B0002~B`: A is online, B offline. Errors: InvalidMessage. */
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
