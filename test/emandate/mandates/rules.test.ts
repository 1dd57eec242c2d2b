import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { FREQUENCY_MODES } from "../../../src/emandate/products/model.ts";
import { modeOf } from "../../../src/emandate/products/rules.ts";
import {
  FINAL_STATUSES,
  MANDATE_STATUSES,
  MANDATE_TRIGGERS,
  type MandateStatus,
  type MandateTrigger,
} from "../../../src/emandate/mandates/model.ts";
import { debitPeriod, FREQUENCIES, type Frequency, hasExpired } from "../../../src/emandate/schedule.ts";
import * as rules from "../../../src/emandate/mandates/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const standing = (status: MandateStatus, status_before: MandateStatus | null = null) => ({
  id: 7,
  status,
  status_before,
});

/** Where each pair that is possible leads, as docs/emandate.md#states has it. */
const TABLE: [MandateStatus, MandateTrigger, MandateStatus][] = [
  ["pending", "authorize", "pending_authorization"],
  ["failed", "authorize", "pending_authorization"],
  ["pending_authorization", "authorized", "pending_approval"],
  ["failed", "authorized", "pending_approval"],
  ["pending_authorization", "not_authorized", "failed"],
  ["pending_approval", "approved", "active"],
  ["pending_approval", "refused", "rejected"],
  ["pending", "cancel", "cancelled"],
  ["pending_authorization", "cancel", "cancelled"],
  ["active", "suspend", "suspended"],
  ["suspended", "resume", "active"],
  ["active", "terminate", "pending_termination"],
  ["suspended", "terminate", "pending_termination"],
  ["pending_termination", "termination_confirmed", "terminated"],
  ["pending_termination", "termination_refused", "suspended"],
  ["pending_termination", "withdraw", "suspended"],
  ["pending_termination", "ended_by_bank", "terminated"],
  ["active", "ended_by_bank", "terminated"],
  ["suspended", "ended_by_bank", "terminated"],
  ["active", "expire", "expired"],
  ["suspended", "expire", "expired"],
];

const PAIRS = MANDATE_STATUSES.flatMap((status) => MANDATE_TRIGGERS.map((trigger) => ({ status, trigger })));

test.each(PAIRS)("$trigger of a mandate that is $status", ({ status, trigger }) => {
  const goal = TABLE.find(([from, by]) => from === status && by === trigger)?.[2] ?? null;
  const mandate = standing(status, status === "pending_termination" ? "suspended" : null);
  expect(rules.nextStatus(mandate, trigger)).toBe(goal);
  if (goal === null) expect(() => rules.requireTransition(mandate, trigger)).toThrow(`it is ${status}`);
  else expect(rules.requireTransition(mandate, trigger)).toBe(goal);
});

test("what has ended stays so, and forgets what it awaited", () => {
  for (const status of FINAL_STATUSES) {
    expect(rules.isFinal(status)).toBe(true);
    for (const trigger of MANDATE_TRIGGERS) expect(rules.nextStatus(standing(status), trigger)).toBeNull();
  }
  const now = Temporal.Instant.from("2026-03-10T20:00:00Z");
  for (const [from, trigger, to] of TABLE.filter(([, , goal]) => rules.isFinal(goal))) {
    const change = rules.transitionFields(standing(from), trigger, now);
    expect([to, change.next_collection_at, change.amendment]).toEqual([to, null, null]);
  }
  // It is the 11th in Kuala Lumpur.
  expect(rules.transitionFields(standing("pending"), "authorize", now).effective_date).toBe("2026-03-11");
});

describe("calendar periods", () => {
  const days = fc
    .integer({ min: 0, max: 60_000 })
    .map((n) => Temporal.PlainDate.from("1950-01-01").add({ days: n }));
  const frequencies = fc.constantFrom(...FREQUENCIES);

  test("a day lies in its period, whose days have its key and whose neighbours' have not", () => {
    fc.assert(
      fc.property(frequencies, days, fc.nat(400), (frequency, day, offset) => {
        const { key, from, to } = debitPeriod(frequency, day);
        const other = day.add({ days: offset });
        const is_inside = Temporal.PlainDate.compare(other, to) < 0;
        expect(Temporal.PlainDate.compare(from, day)).toBeLessThanOrEqual(0);
        expect(Temporal.PlainDate.compare(day, to)).toBeLessThan(0);
        expect(debitPeriod(frequency, other).key === key).toBe(is_inside);
        expect(debitPeriod(frequency, to).from.equals(to)).toBe(true);
      }),
      propertyCases(300),
    );
  });

  test.each([
    ["Daily", "2026-11-21", "2026-11-21", "2026-11-21", "2026-11-22"],
    ["Weekly", "2026-11-22", "2026-W47", "2026-11-16", "2026-11-23"],
    ["Weekly", "2027-01-01", "2026-W53", "2026-12-28", "2027-01-04"],
    ["Monthly", "2028-02-29", "2028-02", "2028-02-01", "2028-03-01"],
    ["Yearly", "2026-12-31", "2026", "2026-01-01", "2027-01-01"],
  ] as [Frequency, string, string, string, string][])("%s on %s is %s", (frequency, day, key, from, to) => {
    const period = debitPeriod(frequency, Temporal.PlainDate.from(day));
    expect([period.key, period.from.toString(), period.to.toString()]).toEqual([key, from, to]);
  });
});

describe("terms", () => {
  const terms = { max_amount: "100.00", max_no_debit: "1", frequency: null };

  test("frequency and mode agree, with each other and with the product", () => {
    const optional = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
    fc.assert(
      fc.property(
        optional(FREQUENCIES),
        optional(FREQUENCY_MODES),
        optional(FREQUENCIES),
        (frequency, frequency_mode, of_product) => {
          const wanted = { frequency, frequency_mode };
          const told = [
            ...(frequency === undefined ? [] : [modeOf(frequency)]),
            ...(frequency_mode === undefined ? [] : [frequency_mode]),
            ...(of_product === undefined ? [] : [modeOf(of_product)]),
          ];
          const found = () => rules.frequencyOf(wanted, { ...terms, frequency: of_product ?? null });
          if (new Set(told).size > 1) expect(found).toThrow("must be");
          else expect(modeOf(found())).toBe(told[0] ?? "MT");
        },
      ),
    );
  });

  test("a debit takes what was asked for, up to the limit, else the product's limit, else nothing", () => {
    const sen = fc.integer({ min: 100, max: 3_000_000 });
    fc.assert(
      fc.property(sen, sen, fc.boolean(), (asked, limit, has_product) => {
        const amount = (asked / 100).toFixed(2);
        const max_amount = (limit / 100).toFixed(2);
        const given = { ...terms, max_amount };
        const found = () => rules.debitAmount({ bankscheme_txn_amount: amount }, given, has_product);
        if (asked > limit) expect(found).toThrow(`must be at most ${max_amount}`);
        else expect(found()).toBe(amount);
        expect(rules.debitAmount({}, given, has_product)).toBe(has_product ? max_amount : null);
      }),
      propertyCases(200),
    );
  });

  test("an amendment changes what it names; the limit only grows", () => {
    const mandate = {
      bankscheme_txn_amount: "50.00",
      max_amount: "100.00",
      frequency: "Monthly" as const,
      expiry_date: null,
      anchor_date: "2026-01-31",
      next_collection_at: "2026-02-27T16:00:00.000Z",
    };
    const { next_collection_at: _, ...kept } = mandate;
    expect(rules.amendedTerms(mandate, { amount: "20.00" })).toEqual({
      ...kept,
      bankscheme_txn_amount: "20.00",
    });
    expect(rules.amendedTerms(mandate, { amount: "120.00" })).toEqual({
      ...kept,
      bankscheme_txn_amount: "120.00",
      max_amount: "120.00",
    });
    expect(rules.amendedTerms(mandate, { expiry_date: "2027-01-01" }).expiry_date).toBe("2027-01-01");
    // The weeks count from the next collection, whose day in Kuala Lumpur is the 28th.
    expect(rules.amendedTerms(mandate, { frequency: "Weekly" })).toEqual({
      ...kept,
      frequency: "Weekly",
      anchor_date: "2026-02-28",
    });
    expect(rules.amendedTerms(mandate, { frequency: "Monthly" })).toEqual(kept);
  });
});

test("references count up within a day", () => {
  const prefix = rules.referencePrefix(Temporal.PlainDate.from("2026-11-21"));
  expect(rules.nextReference(undefined, prefix)).toBe("EM-20261121-000001");
  expect(rules.nextReference("EM-20261121-000009", prefix)).toBe("EM-20261121-000010");
  expect(rules.nextReference("EM-20261121-999998", prefix)).toBe("EM-20261121-999999");
  expect(() => rules.nextReference("EM-20261121-999999", prefix)).toThrow("999999");
});

test("a mandate lives through its last day", () => {
  const day = (text: string) => Temporal.PlainDate.from(text);
  expect(hasExpired("2026-03-10", day("2026-03-10"))).toBe(false);
  expect(hasExpired("2026-03-10", day("2026-03-11"))).toBe(true);
  expect(hasExpired(null, day("9999-12-31"))).toBe(false);
});
