import { describe, expect, test } from "bun:test";
import { AppError } from "../../../src/core/errors.ts";
import type { SchemeConnector, SchemeOrder, SchemeResult } from "../../../src/emandate/scheme/connector.ts";
import { debit, order } from "./fixtures.ts";

const SUBMITTED = order().submitted_at;
const LATER = SUBMITTED.add({ minutes: 10 });

/** What every connector keeps to. `open` gives one whose scheme answers as usual. */
export function describeConnector(name: SchemeConnector["name"], open: () => SchemeConnector): void {
  const orders: readonly SchemeOrder[] = [
    order(),
    order({ order_no: "EN2", awaits: "approval" }),
    order({ order_no: "AM1", kind: "amendment", awaits: "confirmation" }),
    order({ order_no: "TE1", kind: "termination", awaits: "confirmation" }),
    debit(),
    debit({ order_no: "DD2", awaits: "settlement" }),
    debit({ order_no: "DD3", awaits: null }),
    order({ order_no: "EN3", mandate: { customer_name: "No Word" } }),
  ];

  describe(`the connector ${name}`, () => {
    test("says who it is", () => expect(open().name).toBe(name));

    test("lists banks, each once for a kind of account, with a state", async () => {
      const banks = (await open().listBanks(LATER)) ?? [];
      expect(banks.length).toBeGreaterThan(20);
      expect(new Set(banks.map(({ bank_code, type }) => `${bank_code} ${type}`)).size).toBe(banks.length);
      for (const bank of banks) {
        expect(bank.bank_code).toMatch(/^[A-Z0-9]{1,10}$/);
        expect(bank.bank_name).not.toBe("");
        expect(bank.display_name).not.toBe("");
        expect(["B2C", "B2B1"]).toContain(bank.type);
        expect(["online", "offline"]).toContain(bank.status);
      }
      for (const type of ["B2C", "B2B1"] as const) {
        expect(banks.some((bank) => bank.type === type && bank.bank_code === "BIMB0340")).toBe(true);
      }
    });

    test("asks for an enrolment, a change and an end without knowing the answer", async () => {
      const connector = open();
      for (const asked of [
        await connector.startEnrolment(order()),
        await connector.amend(order({ kind: "amendment", awaits: "confirmation" })),
        await connector.terminate(order({ kind: "termination", awaits: "confirmation" })),
      ]) {
        expectResult(asked);
        expect(asked.status).toBe("pending");
      }
    });

    test("has one form for an order, and none for a debit", () => {
      const connector = open();
      expect(connector.authorizationForm(order())).toEqual(connector.authorizationForm(order()));
      expect(connector.authorizationForm(debit())).toBeNull();
    });

    test("takes debits without knowing what becomes of them, and tells of no others", async () => {
      const debits = [debit(), debit({ order_no: "DD2" })];
      const results = await open().collect(debits);
      for (const [order_no, result] of results) {
        expect(debits.map((one) => one.order_no)).toContain(order_no);
        expectResult(result);
        expect(result.status).toBe("pending");
      }
      expect([...(await open().collect([]))]).toEqual([]);
    });

    test("answers about the orders that it is asked about, and again the same", async () => {
      const connector = open();
      const results = await connector.queryStatus(orders, LATER);
      for (const [order_no, result] of results) {
        expect(orders.map((one) => one.order_no)).toContain(order_no);
        expectResult(result);
      }
      expect(await connector.queryStatus(orders, LATER)).toEqual(results);
      expect([...(await connector.queryStatus([], LATER))]).toEqual([]);
    });

    test("says that a customer authorized, once that is so", async () => {
      const results = await open().queryStatus([order()], LATER);
      expect(results.get(order().order_no)).toMatchObject({ status: "ok", code: "00" });
      expect(results.get(order().order_no)?.scheme_txn_id).toBeString();
    });

    test("answers nothing for an order that awaits nothing", async () => {
      const done = debit({ awaits: null });
      const results = await open().queryStatus([done], LATER);
      expect(results.get(done.order_no)?.status ?? "pending").toBe("pending");
    });

    test.each([
      ["nothing", ""],
      ["no form", "\0\u0001 <xml/>"],
      ["a form of something else", "a=1&b=2"],
      ["a form without a checksum", "fpx_msgType=AC&fpx_sellerExOrderNo=EN0000000001&fpx_txnAmount=1.00"],
      ["too much", `fpx_msgType=AC&fpx_x=${"x".repeat(200_000)}`],
      ["too many fields", Array.from({ length: 5_000 }, (_, i) => `fpx_${i}=1`).join("&")],
      ["a wrong checksum", `fpx_msgType=AC&fpx_checkSum=${"AB".repeat(256)}`],
    ])("refuses a callback that is %s", (_, body) => {
      let refused: unknown;
      try {
        open().parseCallback(body, LATER);
      } catch (error) {
        refused = error;
      }
      expect(refused).toBeInstanceOf(AppError);
      expect(refused).toHaveProperty("kind", "malformed");
    });
  });
}

/** What holds of every result. */
function expectResult(result: SchemeResult): void {
  expect(["ok", "pending", "failed", "charged_back"]).toContain(result.status);
  if (result.is_retriable) expect(result.status).toBe("failed");
  if (result.code !== null) expect(result.code).toMatch(/^[A-Z0-9]{2}$/);
  expect(result.message === null || result.message.length > 0).toBe(true);
}
