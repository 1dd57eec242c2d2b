import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { sandbox, SCENARIO_RESULTS } from "../../../src/emandate/scheme/sandbox.ts";
import type { OrderAwaits, SchemeOrder } from "../../../src/emandate/scheme/connector.ts";
import { describeConnector } from "./conformance.ts";
import { debit, order } from "./fixtures.ts";

describeConnector("sandbox", () => sandbox);

async function ask(asked: SchemeOrder, after_s: number) {
  const results = await sandbox.queryStatus([asked], asked.submitted_at.add({ seconds: after_s }));
  return results.get(asked.order_no);
}

const at = (awaits: OrderAwaits, customer_name: string) =>
  awaits === "payment" || awaits === "settlement"
    ? debit({ awaits, mandate: { customer_name } })
    : order({ awaits, mandate: { customer_name } });

describe("the sandbox's customers", () => {
  test.each([
    ["Successful Siti", "authorization", "ok", "00", false],
    ["Successful", "approval", "ok", "00", false],
    ["Successful Siti", "payment", "ok", "00", false],
    ["Successful Siti", "settlement", "ok", "00", false],
    ["Penniless Paul", "authorization", "ok", "00", false],
    ["Penniless Paul", "approval", "ok", "00", false],
    ["Penniless Paul", "payment", "failed", "51", true],
    ["Fickle Fatimah", "payment", "ok", "00", false],
    ["Fickle Fatimah", "settlement", "charged_back", "CB", false],
    ["Late Lim", "payment", "ok", "00", false],
    ["Late Lim", "settlement", "failed", "53", false],
    ["Invalid Ismail", "authorization", "failed", "14", false],
    [" Successful\tSiti", "payment", "ok", "00", false],
  ] as const)("%s: %s is %s", async (name, awaits, status, code, is_retriable) => {
    expect(await ask(at(awaits, name), 4)).toMatchObject({ status, code, is_retriable });
  });

  test.each(["Siti Successful", "successful siti", "Successfully Siti", "", "constructor", "__proto__ x"])(
    "%p waits for scenarios",
    async (name) => {
      for (const awaits of ["authorization", "approval", "payment", "settlement"] as const) {
        expect(await ask(at(awaits, name), 86_400)).toMatchObject({ status: "pending" });
      }
    },
  );

  test("changes and ends are confirmed to everyone within five seconds, and not at once", async () => {
    for (const kind of ["amendment", "termination"] as const) {
      const asked = order({ kind, awaits: "confirmation", mandate: { customer_name: "Nobody" } });
      expect(await ask(asked, 0)).toMatchObject({ status: "pending" });
      expect(await ask(asked, 4)).toMatchObject({ status: "ok" });
    }
  });

  test("an answer stays what it was: nothing is kept, so nothing is forgotten", () =>
    fc.assert(
      fc.asyncProperty(
        fc.constantFrom("Successful", "Penniless", "Fickle", "Late", "Invalid", "Other"),
        fc.constantFrom("authorization", "approval", "payment", "settlement", "confirmation"),
        fc.integer({ min: -1_000, max: 1_000_000 }),
        fc.nat({ max: 1_000_000 }),
        async (name, awaits, after_s, more_s) => {
          const [first, later] = [
            await ask(at(awaits, name), after_s),
            await ask(at(awaits, name), after_s + more_s),
          ];
          if (first?.status !== "pending") expect(later).toEqual(first);
          if (after_s <= 0) expect(first?.status).toBe("pending");
        },
      ),
      { numRuns: 300 },
    ));
});

test("scenarios say what their names say", () => {
  const statuses = Object.fromEntries(
    Object.entries(SCENARIO_RESULTS).map(([name, { awaits, result }]) => [
      name,
      [awaits, result.status, result.code],
    ]),
  );
  expect(statuses).toEqual({
    mandate_authorized: ["authorization", "ok", "00"],
    mandate_activated: ["approval", "ok", "00"],
    mandate_rejected: ["approval", "failed", "92"],
    payment_paid: ["payment", "ok", "00"],
    payment_insufficient_funds: ["payment", "failed", "51"],
    payment_account_closed: ["payment", "failed", "53"],
    payment_pending: ["payment", "pending", "09"],
    payment_late_failure: ["settlement", "failed", "53"],
    payment_charged_back: ["settlement", "charged_back", "CB"],
  });
});
