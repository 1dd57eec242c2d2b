import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { addWorkingDays, dayAt, startOfDay, workingDayFrom } from "../../../src/emandate/working_days.ts";
import {
  collectionDays,
  debitPeriod,
  firstCollection,
  FREQUENCIES,
  nextCollection,
  planCollection,
} from "../../../src/emandate/schedule.ts";
import { PAYMENT_STATUSES } from "../../../src/emandate/payments/model.ts";
import {
  type DebitedMandate,
  debitProblem,
  isMissed,
  PAYMENT_TRANSITIONS,
  PAYMENT_TRIGGERS,
  retryDay,
} from "../../../src/emandate/payments/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const day = (text: string) => Temporal.PlainDate.from(text);
const texts = (days: Iterable<Temporal.PlainDate>) => [...days].map(String);

describe("states", () => {
  // Every state by every trigger, in the order of PAYMENT_TRIGGERS; "-" is not possible.
  const TABLE = `
    scheduled        submitted  -     -       -                -          -     -             cancelled  skipped
    submitted        -          paid  failed  retry_scheduled  -          -     charged_back  -          -
    paid             -          -     failed  -                submitted  paid  charged_back  -          -
    failed           -          paid  -       -                -          -     charged_back  -          -
    retry_scheduled  submitted  paid  failed  -                -          -     charged_back  cancelled  -
    charged_back     -          -     -       -                -          -     -             -          -
    cancelled        -          paid  -       -                -          -     charged_back  -          -
    skipped          submitted  paid  -       -                -          -     charged_back  -          -`;

  test("each trigger leads from each state where the design says, and nowhere else", () => {
    const rows = TABLE.trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    expect(new Set(rows.map(([from]) => from ?? ""))).toEqual(new Set<string>(PAYMENT_STATUSES));
    expect([...PAYMENT_TRIGGERS]).toEqual([
      "submit",
      "pay",
      "fail",
      "fail_for_now",
      "await_other",
      "keep_other",
      "charge_back",
      "cancel",
      "skip",
    ]);
    for (const status of PAYMENT_STATUSES) {
      const goals = PAYMENT_TRIGGERS.map((trigger): string => PAYMENT_TRANSITIONS[status][trigger] ?? "-");
      expect([status, ...goals]).toEqual(rows.find(([from]) => from === status) ?? []);
    }
  });
});

describe("days of collection", () => {
  test("a month that is too short is collected on its last day, the next one on the anchor day again", () => {
    const found = collectionDays("Monthly", day("2026-01-31"), day("2026-01-31"));
    expect(texts(found.take(5))).toEqual([
      "2026-01-31",
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
    ]);
    const yearly = collectionDays("Yearly", day("2024-02-29"), day("2025-01-01"));
    expect(texts(yearly.take(4))).toEqual(["2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29"]);
  });

  const days = fc.integer({ min: 0, max: 40_000 }).map((n) => day("1990-01-01").add({ days: n }));
  test("each calendar period has exactly one, from the first one on", () => {
    fc.assert(
      fc.property(fc.constantFrom(...FREQUENCIES), days, days, (frequency, anchor, from) => {
        const [first, second] = [...collectionDays(frequency, anchor, from).take(2)] as [
          Temporal.PlainDate,
          Temporal.PlainDate,
        ];
        expect(Temporal.PlainDate.compare(first, from)).toBeGreaterThanOrEqual(0);
        expect(Temporal.PlainDate.compare(first, anchor)).toBeGreaterThanOrEqual(0);
        const period = debitPeriod(frequency, first);
        expect(debitPeriod(frequency, second).from.toString()).toBe(period.to.toString());
        const again = collectionDays(frequency, anchor, first.add({ days: 1 })).take(1);
        expect(texts(again)).toEqual([second.toString()]);
      }),
      propertyCases(300),
    );
  });
});

describe("working days", () => {
  const holidays = new Set(["2026-03-20", "2026-03-23"]);
  test("weekends and days off are none", () => {
    expect(workingDayFrom(day("2026-03-19"), holidays).toString()).toBe("2026-03-19");
    expect(workingDayFrom(day("2026-03-20"), holidays).toString()).toBe("2026-03-24");
    expect(addWorkingDays(day("2026-03-19"), 0, holidays).toString()).toBe("2026-03-19");
    expect(addWorkingDays(day("2026-03-19"), 2, holidays).toString()).toBe("2026-03-25");
  });
  test("a day begins in Kuala Lumpur", () => {
    expect(startOfDay(day("2026-03-20")).toString()).toBe("2026-03-19T16:00:00Z");
    expect(dayAt(Temporal.Instant.from("2026-03-19T15:59:59.999Z")).toString()).toBe("2026-03-19");
    expect(dayAt(Temporal.Instant.from("2026-03-19T16:00:00Z")).toString()).toBe("2026-03-20");
  });

  test.each([
    ["2026-03-18", {}, "2026-03-24"], // Wednesday, then Thursday and, after the days off, Tuesday
    ["2026-03-18", { effective_date: "2026-04-02" }, "2026-04-02"],
    ["2026-03-18", { effective_date: "2026-03-01" }, "2026-03-24"],
    ["2026-03-18", { expiry_date: "2026-03-24" }, "2026-03-24"],
    ["2026-03-18", { expiry_date: "2026-03-23" }, null],
  ])("the first collection of a mandate activated on %s with %j is on %s", (activated, dates, first) => {
    const mandate = { effective_date: null, expiry_date: null, ...dates };
    const terms = { first_collection_lead_days: 2, holidays: [...holidays] };
    expect(firstCollection(mandate, day(activated), terms)?.toString() ?? null).toBe(first);
  });
});

describe("what is due", () => {
  const mandate = {
    frequency: "Monthly" as const,
    anchor_date: "2026-01-31",
    next_day: day("2026-01-31"),
    expiry_date: null as string | null,
  };
  const plan = (today: string, over: Partial<typeof mandate> = {}, until = today, most = 400) => {
    const { due, missed, next } = planCollection(
      { ...mandate, ...over },
      { until: day(until), today: day(today) },
      most,
    );
    return [due?.toString() ?? null, texts(missed), next?.toString() ?? null];
  };

  test("before its day nothing, on it the period, after downtime the running period once", () => {
    expect(plan("2026-01-30")).toEqual([null, [], "2026-01-31"]);
    expect(plan("2026-01-31")).toEqual(["2026-01-31", [], "2026-02-28"]);
    expect(plan("2026-03-31")).toEqual(["2026-03-31", ["2026-01-31", "2026-02-28"], "2026-04-30"]);
    expect(plan("2026-03-10")).toEqual([null, ["2026-01-31", "2026-02-28"], "2026-03-31"]);
  });
  test("a mandate that ends is collected on its last day, and never after", () => {
    expect(plan("2026-02-28", { expiry_date: "2026-02-28" })).toEqual(["2026-02-28", ["2026-01-31"], null]);
    expect(plan("2026-02-28", { expiry_date: "2026-02-27" })).toEqual([null, ["2026-01-31"], null]);
  });
  test("a date in the past bounds what is due, not which period runs", () => {
    expect(plan("2026-03-31", {}, "2026-02-28")).toEqual([null, ["2026-01-31", "2026-02-28"], "2026-03-31"]);
  });
  test("much that was missed is reported in parts", () => {
    const daily = { frequency: "Daily" as never, anchor_date: "2026-01-01", next_day: day("2026-01-01") };
    const [due, missed, next] = plan("2026-12-31", daily, undefined, 100);
    expect([due, missed?.length, next]).toEqual([null, 100, "2026-04-11"]);
  });
  test("what waited is collected next on a day of its own", () => {
    expect(nextCollection(mandate, day("2026-04-05"))?.toString()).toBe("2026-04-30");
    expect(nextCollection({ ...mandate, expiry_date: "2026-04-29" }, day("2026-04-05"))).toBeNull();
  });
});

describe("another attempt", () => {
  const terms = {
    max_retries: 3,
    retry_interval_days: 1,
    suspend_after_failures: 1,
    holidays: ["2026-03-20"],
  };
  const mandate = { frequency: "Monthly" as const, expiry_date: null as string | null };
  const retry = (
    today: string,
    { attempt_count = 1, ...over }: Partial<typeof mandate & { attempt_count: number }> = {},
    more: Partial<typeof terms> = {},
  ) =>
    retryDay({ ...mandate, ...over }, { ...mandate, ...over, debit_date: today, attempt_count }, day(today), {
      ...terms,
      ...more,
    })?.toString() ?? null;

  test.each([
    ["the next working day", retry("2026-03-17"), "2026-03-18"],
    ["past a day off and a weekend", retry("2026-03-19"), "2026-03-23"],
    ["after the pause", retry("2026-03-09", {}, { retry_interval_days: 7 }), "2026-03-16"],
    ["while attempts are left", retry("2026-03-17", { attempt_count: 3 }), "2026-03-18"],
    ["not after the last one", retry("2026-03-17", { attempt_count: 4 }), null],
    ["not where none is wanted", retry("2026-03-17", {}, { max_retries: 0 }), null],
    ["not past the end of the period", retry("2026-03-31"), null],
    ["not in the week after", retry("2026-03-13", { frequency: "Weekly" as never }), null],
    ["never of a day's debit", retry("2026-03-17", { frequency: "Daily" as never }), null],
    ["on the mandate's last day", retry("2026-03-17", { expiry_date: "2026-03-18" }), "2026-03-18"],
    ["not after it", retry("2026-03-17", { expiry_date: "2026-03-17" }), null],
  ])("%s", (_, found, expected) => expect(found).toBe(expected));

  test("a clock that went back does not bring it forward", () => {
    const payment = { frequency: "Monthly" as const, debit_date: "2026-03-17", attempt_count: 1 };
    expect(retryDay(mandate, payment, day("2026-02-01"), terms)?.toString()).toBe("2026-03-18");
  });
});

describe("what a mandate allows", () => {
  const mandate: DebitedMandate = {
    status: "active",
    frequency: "Monthly",
    max_amount: "100.00",
    max_no_debit: "2",
    effective_date: "2026-01-10",
    expiry_date: "2026-06-10",
  };
  test.each([
    [{}, "100.00", "2026-01-10", 1, null],
    [{}, "100.00", "2026-06-10", 0, null],
    [{ status: "suspended" as const }, "1.00", "2026-02-01", 0, "status"],
    [{}, "100.01", "2026-02-01", 0, "amount"],
    [{}, "1.00", "2026-01-09", 0, "day"],
    [{}, "1.00", "2026-06-11", 0, "day"],
    [{}, "1.00", "2026-02-01", 2, "count"],
    [{}, "1.00", "2026-02-01", 7, "count"],
  ])("%j: %s on %s after %i", (over, amount, on, made, rule) => {
    expect(debitProblem({ ...mandate, ...over }, amount, day(on), made)?.rule ?? null).toBe(rule as never);
  });

  test("a payment is missed when its period is over; one by hand waits, but for another attempt", () => {
    const auto = {
      frequency: "Monthly",
      status: "scheduled",
      period_key: "2026-03",
      due_date: "2026-03-31",
      debit_date: "2026-03-31",
    } as const;
    const by_hand = { ...auto, period_key: null };
    const again = { ...by_hand, status: "retry_scheduled" } as const;
    const missed = (payment: Parameters<typeof isMissed>[0], today: string) => isMissed(payment, day(today));
    expect([auto, by_hand, again].map((one) => missed(one, "2026-03-31"))).toEqual([false, false, false]);
    expect([auto, by_hand, again].map((one) => missed(one, "2026-04-01"))).toEqual([true, false, true]);
  });
});
