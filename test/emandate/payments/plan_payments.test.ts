import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { type DueMandate, paymentPlanner } from "../../../src/emandate/payments/plan_payments.ts";
import { dueAt } from "../../../src/emandate/payments/rules.ts";
import { FREQUENCIES } from "../../../src/emandate/schedule.ts";
import { propertyCases } from "../../support/properties.ts";

const TODAY = Temporal.PlainDate.from("2026-03-10");

const someMandate = fc
  .record({
    id: fc.integer({ min: 1, max: 9 }),
    frequency: fc.constantFrom(...FREQUENCIES),
    amount: fc.constantFrom("10.00", "20.50"),
    anchor: fc.option(fc.integer({ min: 0, max: 2 })),
    next: fc.integer({ min: 0, max: 3 }),
    expires: fc.option(fc.integer({ min: -2, max: 2 })),
  })
  .map(({ anchor, next, expires, ...mandate }): DueMandate => {
    const first = TODAY.subtract({ days: 20 * next });
    return {
      ...mandate,
      anchor_date: anchor === null ? null : first.subtract({ weeks: anchor }).toString(),
      next_collection_at: dueAt(first),
      expiry_date: expires === null ? null : TODAY.add({ days: expires }).toString(),
    };
  });

test("each mandate of a batch is planned as it would be alone", () => {
  const days = { until: TODAY.add({ days: 1 }), today: TODAY };
  fc.assert(
    fc.property(fc.array(someMandate, { maxLength: 12 }), (mandates) => {
      const plan = paymentPlanner(days);
      expect(mandates.map(plan)).toEqual(mandates.map((mandate) => paymentPlanner(days)(mandate)));
      for (const mandate of mandates)
        for (const { mandate_id, amount } of plan(mandate).payments)
          expect([mandate_id, amount]).toEqual([mandate.id, mandate.amount]);
    }),
    propertyCases(300),
  );
});
