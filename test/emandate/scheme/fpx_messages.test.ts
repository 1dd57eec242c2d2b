import { describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import * as fc from "fast-check";
import { createPrivateKey } from "node:crypto";
import {
  bankListMessage,
  checksumText,
  orderMessage,
  readBankList,
  type Seller,
  signMessage,
} from "../../../src/emandate/scheme/fpx_messages.ts";
import fpx from "../../../data/seed/fpx.json";
import { makeKey } from "../../support/certificates.ts";
import { order, type OrderParts } from "./fixtures.ts";

const SELLER: Seller = {
  exchange_id: "EX00000001",
  seller_id: "SE00000001",
  seller_bank_code: "01",
  version: "7.0",
};

/** Kinds other than debits have messages. */
const message = (
  type: "AD" | "AE",
  parts: OrderParts = {},
  kind: "enrolment" | "amendment" | "termination" = "enrolment",
) => orderMessage(type, SELLER, { ...order(parts), kind });

describe("AD and AE", () => {
  test("hold what the scheme asks for", () => {
    const common = {
      msgToken: "01",
      sellerExId: "EX00000001",
      sellerExOrderNo: "EN0000000001",
      sellerOrderNo: "EN0000000001",
      // The order's time in Kuala Lumpur, on its mandate's first day.
      sellerTxnTime: "20261121090203",
      sellerId: "SE00000001",
      sellerBankCode: "01",
      txnCurrency: "MYR",
      txnAmount: "1.00",
      buyerEmail: "siti@example.com",
      buyerName: "Successful Siti",
      buyerBankId: "MB2U0227",
      buyerBankBranch: "",
      buyerAccNo: "",
      buyerId: "900131145678,1",
      buyerIban: "01,,1,MT,211126,",
      makerName: "",
      productDesc: "EM-20261121-000001",
      version: "7.0",
    };
    const application = {
      buyerID: "900131145678",
      maxFreq: "1",
      freqMode: "MT",
      effectiveDate: "211126",
      appType: "01",
    };
    expect(message("AD")).toEqual({ msgType: "AD", ...common, ...application });
    expect(message("AE")).toEqual({ msgType: "AE", ...common });
  });

  test("are signed over the values in the scheme's order, joined by |", () => {
    const text =
      "||MB2U0227|siti@example.com|01,,1,MT,211126,|900131145678,1|Successful Siti||01|AE|EM-20261121-000001|01|EX00000001|EN0000000001|SE00000001|EN0000000001|20261121090203|1.00|MYR|7.0";
    expect(checksumText("AE", message("AE"))).toBe(text);
    const pem = makeKey();
    const sent = signMessage("AE", message("AE"), createPrivateKey(pem));
    expect(Object.keys(sent).every((name) => name.startsWith("fpx_"))).toBe(true);
    expect(sent.fpx_checkSum).toMatch(/^[0-9A-F]{512}$/);
    const signature = Buffer.from(sent.fpx_checkSum ?? "", "hex");
    expect(verify("sha1", Buffer.from(text), createPublicKey(pem), signature)).toBe(true);
  });

  test.each([
    ["enrolment", "01"],
    ["amendment", "02"],
    ["termination", "03"],
  ] as const)("an %s has application type %s", (kind, type) => {
    expect(message("AD", {}, kind)).toMatchObject({ appType: type, buyerIban: `${type},,1,MT,211126,` });
  });

  test.each([
    ["a person's bank", "MB2U0227", "500.00", "01"],
    ["a company's bank", "ABB0235", "500.00", "02"],
    ["a bank for both, a person's limit", "BIMB0340", "30000.00", "01"],
    ["a bank for both, beyond it", "BIMB0340", "30000.01", "02"],
    ["no bank yet", null, "500.00", "01"],
    ["a bank that nobody knows", "NEW001", "500.00", "01"],
  ])("%s is asked with the right token", (_, bank_code, max_amount, token) => {
    expect(message("AD", { mandate: { bank_code, max_amount } }).msgToken).toBe(token);
  });

  test.each([
    ["accents go", { customer_name: "José Ñandú" }, { buyerName: "Jose Nandu" }],
    ["the separator goes", { customer_name: "A|B" }, { buyerName: "A B" }],
    ["what has no plain form goes", { customer_name: "陈 Chen\u202E" }, { buyerName: "Chen" }],
    ["long names are cut", { customer_name: "N".repeat(41) }, { buyerName: "N".repeat(40) }],
    ["long emails are left out", { customer_email: `${"e".repeat(50)}@example.com` }, { buyerEmail: "" }],
    ["no identity card", { customer_ic_number: null }, { buyerId: "", buyerID: "" }],
    [
      "dates of the mandate",
      { effective_date: "2026-12-01", expiry_date: "2030-01-31" },
      { buyerIban: "01,,1,MT,011226,310130", effectiveDate: "011226" },
    ],
  ])("%s", (_, mandate, expected) => expect(message("AD", { mandate })).toMatchObject(expected));

  test("keep to the scheme's lengths and letters, whatever the order says", () => {
    const text = fc.string({ unit: "binary", maxLength: 80 });
    const lengths: Record<string, number> = fpx.lengths;
    fc.assert(
      fc.property(
        text,
        text,
        fc.option(text, { nil: null }),
        (customer_name, customer_email, description) => {
          const fields = message("AD", {
            description,
            mandate: { customer_name, customer_email: plain(customer_email) },
          });
          for (const [name, value] of Object.entries(fields)) {
            expect(value.length, name).toBeLessThanOrEqual(lengths[name] ?? 40);
            expect(value, name).toMatch(/^[\x20-\x7B\x7D\x7E]*$/);
          }
          expect(checksumText("AD", fields).split("|")).toHaveLength(20);
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** Emails were checked before; only their length is the message's matter. */
const plain = (text: string) => `${text.replaceAll(/[^a-z0-9]/g, "x")}@example.com`;

test("BE asks for the banks of one kind of account", () => {
  expect(checksumText("BE", bankListMessage("02", SELLER))).toBe("02|BE|EX00000001|7.0");
});

test("BC's list is read strictly", () => {
  expect([...readBankList("MB2U0227~A, BIMB0340~B,\n")]).toEqual([
    ["MB2U0227", "online"],
    ["BIMB0340", "offline"],
  ]);
  for (const bad of ["MB2U0227", "MB2U0227~", "~A", "MB2U0227~a", "A~A~A", "MB2U0227;A", "TOOLONGCODE1~A"]) {
    expect(() => readBankList(bad), bad).toThrow("can't be read");
  }
});

test("only the order of AD's fields is unconfirmed", () => {
  const unconfirmed = Object.entries(fpx.checksums).filter(([, { confirmed }]) => !confirmed);
  expect(unconfirmed.map(([type]) => type)).toEqual(["AD"]);
});
