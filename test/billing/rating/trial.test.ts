import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { rate } from "../../../src/billing/rating/charges.ts";
import { segments } from "../../../src/billing/rating/segments.ts";
import { periodsBetween } from "../../../src/core/periods.ts";
import { instant, iso } from "../../../src/core/time.ts";
import { propertyCases } from "../../support/properties.ts";
import { cut, GRADUATED, MARCH, model, unused, used } from "./fixtures.ts";

const shown = (parts: Parameters<typeof rate>[0]) =>
  rate(parts, "EUR", null).lines.map(({ kind, description, amount, proration, trial }) => [
    kind,
    description,
    amount,
    proration?.numerator ?? null,
    trial ?? false,
  ]);

describe("a trial", () => {
  test("costs nothing for so many local days, the first included; what follows is charged by days", () => {
    const parts = cut(MARCH, [["2024-03-11T09:00:00Z", model({ trial_days: 14 })]]);
    expect(parts.map(({ from, to }) => `${iso(from)} ${iso(to)}`)).toEqual([
      "2024-03-11T09:00:00.000Z 2024-03-25T00:00:00.000Z",
      "2024-03-25T00:00:00.000Z 2024-04-01T00:00:00.000Z",
    ]);
    expect(shown(unused(parts))).toEqual([
      ["fee", "Plan: trial, monthly fee, 14 of 31 days", "0.00", 14, true],
      ["fee", "Plan: monthly fee, 7 of 31 days", "7.00", 7, false],
    ]);
  });

  test("its usage is free, and leaves tiers as they are", () => {
    const parts = cut(MARCH, [["2024-03-01T00:00:00Z", model({ ...GRADUATED, trial_days: 5 })]]);
    const lines = shown(parts.map((segment) => ({ segment, usage: used("21") })));
    expect(lines).toEqual([
      ["usage", "Plan: trial, usage, graduated tiers", "0.00", null, true],
      ["usage", "Plan: usage, graduated tiers", "163.00", null, false],
    ]);
  });

  test("goes on under another model; how long is up to the one that owns the first day", () => {
    const days = (second: string) =>
      cut(MARCH, [
        ["2024-03-01T09:00:00Z", model({ trial_days: 10 })],
        [second, model({ id: 2, trial_days: 3 })],
      ]).map(({ model: { id }, is_trial, proration }) => [id, is_trial ?? false, proration.numerator]);
    expect(days("2024-03-05T10:00:00Z")).toEqual([
      [1, true, 4],
      [2, true, 6],
      [2, false, 21],
    ]);
    expect(days("2024-03-01T10:00:00Z")).toEqual([
      [1, true, 0],
      [2, true, 3],
      [2, false, 28],
    ]);
  });

  test("a setup fee is charged once, whole, also in a trial; by the model that owns the first day", () => {
    const first = model({ setup_fee: "40", trial_days: 60 });
    const parts = cut(MARCH, [
      ["2024-03-01T09:00:00Z", first],
      ["2024-03-01T10:00:00Z", model({ id: 2, name: "Other", setup_fee: "25.5" })],
    ]);
    expect(shown(unused(parts)).filter(([kind]) => kind === "setup")).toEqual([
      ["setup", "Other: setup fee", "25.50", null, false],
    ]);
    const later = cut(MARCH, [["2024-02-01T00:00:00Z", first]]);
    expect(shown(unused(later))).toEqual([["fee", "Plan: trial, monthly fee", "0.00", 31, true]]);
  });

  test("every instant and day of a life is in the trial or charged, whatever the zone and the periods", () => {
    const at = (ms: number) => Temporal.Instant.fromEpochMilliseconds(ms);
    const from_ms = instant("2024-01-01T00:00:00Z").epochMilliseconds;
    fc.assert(
      fc.property(
        fc.constantFrom("UTC", "Asia/Kuala_Lumpur", "America/Sao_Paulo", "Europe/Lisbon"),
        fc.integer({ min: 1, max: 31 }),
        fc.integer({ min: 0, max: 80 * 86_400_000 }),
        fc.integer({ min: 0, max: 120 }),
        (timezone, anchor, start, trial_days) => {
          const started_at = at(from_ms + start);
          const zones = [{ timezone, from: null }];
          const until = started_at.add({ hours: 24 * 150 });
          const timeline = [{ model: model(), from: started_at }];
          const first_day = started_at.toZonedDateTimeISO(timezone).toPlainDate();
          let [trial, last] = [0, started_at];
          for (const period of periodsBetween(started_at, until, anchor, zones)) {
            const whole = segments(period, timeline, { started_at, ends_at: null });
            const parts = segments(period, timeline, { started_at, ends_at: null, trial_days });
            const days = (some: typeof parts) =>
              some.reduce((sum, { proration }) => sum + proration.numerator, 0);
            expect(days(parts)).toBe(days(whole));
            for (const { from, to, is_trial, proration } of parts) {
              expect(from.toString()).toBe(last.toString());
              last = to;
              if (is_trial) trial += proration.numerator;
              const day = from.toZonedDateTimeISO(timezone).toPlainDate();
              expect(is_trial ?? false).toBe(first_day.until(day).days < trial_days);
            }
          }
          expect(trial).toBe(trial_days);
        },
      ),
      propertyCases(60),
    );
  });
});
