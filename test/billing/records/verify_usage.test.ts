import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { adjustmentLines } from "../../../src/billing/rating/adjustment.ts";
import { assertionsOf, storedBy, verify, windowOf } from "../../../src/billing/records/verify_usage.ts";
import type { RecordedPart } from "../../../src/billing/records/queries.ts";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import type { UsageWindow, WindowTotal } from "../../../src/usage_store/port.ts";
import { propertyCases } from "../../support/properties.ts";

const START_MS = Date.UTC(2024, 2, 1);
const START = "2024-03-01T00:00:00.000Z";
const LENGTH = 20;
const at = (ms: number) => new Date(START_MS + ms).toISOString();

/** An event at a millisecond of a period that has twenty, with what it adds to a digest. */
interface Event {
  time: number;
  units: number;
  mark: bigint;
}

/** What the first `last_seq` events say of a window. */
function total(events: readonly Event[], { start_ms, end_ms }: UsageWindow, last_seq: number): WindowTotal {
  const found = events
    .slice(0, last_seq)
    .filter(({ time }) => START_MS + time >= start_ms && START_MS + time < end_ms);
  const digest = BigInt.asUintN(
    64,
    found.reduce((sum, { mark }) => sum + mark, 0n),
  );
  return {
    units: String(found.reduce((sum, { units }) => sum + units, 0)),
    event_count: found.length,
    corrections: 0,
    digest: digest.toString(16).padStart(16, "0").repeat(2),
  };
}

/** The usage lines that a period should have, cut at some of its milliseconds; `flat` is charged for nothing, too. */
function expectedLines(events: readonly Event[], cuts: readonly number[], flat: string): BillLine[] {
  const bounds = [...new Set([0, ...cuts, LENGTH])].toSorted((a, b) => a - b);
  return bounds.slice(1).map((to, i): BillLine => {
    const [start_ms, end_ms] = [START_MS + (bounds[i] ?? 0), START_MS + to];
    const window = { subscription_id: 1, start_ms, end_ms };
    const { units, event_count, digest } = total(events, window, events.length);
    const quantity = Number(units) > 0 ? units : "0";
    return {
      kind: "usage",
      description: "Plan: usage",
      billing_model_id: 1,
      from: at(bounds[i] ?? 0),
      to: at(to),
      quantity,
      unit_price: "1",
      amount: `${quantity === "0" ? flat : quantity}.00`,
      event_count,
      usage_digest: digest,
      proration: null,
    };
  });
}

/** Writes the records of a period: one after each batch of events, cut anew each time. */
function write(batches: readonly { events: Event[]; cuts: number[] }[], flat: string) {
  const events: Event[] = [];
  const records: RecordedPart[] = [];
  for (const batch of batches) {
    events.push(...batch.events);
    const recorded = records.flatMap(({ lines }) => lines);
    const lines = adjustmentLines(expectedLines(events, batch.cuts, flat), recorded, "EUR");
    if (records.length > 0 && lines.length === 0) continue;
    const kind = records.length === 0 ? ("period" as const) : ("adjustment" as const);
    const place = { subscription_id: 1, billingStartAt: START, kind, sequence: records.length };
    const known = { usage_until: "2024-04-01T01:00:00.001Z", usage_seq: events.length };
    records.push({ id: records.length + 1, ...place, ...known, lines, created_at: START });
  }
  return { events, records };
}

/** Whether each record's claims hold against the events. */
function verdicts(records: readonly RecordedPart[], events: readonly Event[]): boolean[] {
  return records.map((_, i) => {
    const claims = assertionsOf(records.slice(0, i + 1), "EUR");
    return verify(claims, ({ line }, part) =>
      total(events, windowOf(line, 1), storedBy(part).last_seq ?? events.length),
    ).matches;
  });
}

const event = fc.record({
  time: fc.integer({ min: 0, max: LENGTH - 1 }),
  units: fc.integer({ min: -3, max: 5 }),
  mark: fc.bigInt({ min: 1n, max: 2n ** 64n - 1n }),
});
const batches = fc.array(
  fc.record({
    events: fc.array(event, { maxLength: 4 }),
    // Few places, so that stretches are taken back and come again.
    cuts: fc.subarray([5, 10, 15]),
  }),
  { minLength: 1, maxLength: 7 },
);
const flat = fc.constantFrom("0", "7");

test("every record of a period holds, however late usage comes and however its stretches change", () => {
  fc.assert(
    fc.property(batches, flat, fc.array(event), (written, fee, later) => {
      const { events, records } = write(written, fee);
      expect(verdicts(records, [...events, ...later])).toEqual(records.map(() => true));
    }),
    propertyCases(300),
  );
});

test("a changed event shows in some record, whichever it is", () => {
  fc.assert(
    fc.property(batches, flat, fc.nat(), (written, fee, pick) => {
      const { events, records } = write(written, fee);
      const counted = records.at(-1)?.usage_seq ?? 0;
      fc.pre(counted > 0);
      const changed = events.map((one, i) => (i === pick % counted ? { ...one, mark: one.mark ^ 1n } : one));
      expect(verdicts(records, changed)).toContain(false);
    }),
    propertyCases(300),
  );
});
