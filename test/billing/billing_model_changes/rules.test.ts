import { expect, test } from "bun:test";
import { instant } from "../../../src/core/time.ts";
import {
  nextAttempt,
  relinkTimeline,
  earliestEffectiveAt,
  type TimelineChange,
} from "../../../src/billing/billing_model_changes/rules.ts";

const NOW = instant("2024-03-15T10:00:00Z");

function change(id: number, given: Partial<TimelineChange>): TimelineChange {
  const effective_at = `2024-03-${10 + id}T00:00:00.000Z`;
  return {
    id,
    status: "scheduled",
    kind: "change",
    old_billing_model_id: 1,
    new_billing_model_id: 2,
    effective_at,
    ...given,
  };
}

test.each([
  [1, "2024-03-15T10:00:02.000Z"],
  [2, "2024-03-15T10:00:04.000Z"],
  [5, "2024-03-15T10:00:32.000Z"],
  [12, "2024-03-15T11:00:00.000Z"],
  [100_000, "2024-03-15T11:00:00.000Z"],
])("after %d failures the next attempt is at %s", (attempts, expected) => {
  expect(nextAttempt(attempts, NOW)).toBe(expected);
});

test("soonest() is now, or a millisecond after what was applied", () => {
  const applied = (effective_at: string) => change(1, { status: "applied", effective_at });
  expect(earliestEffectiveAt([], NOW)).toEqual(NOW);
  expect(earliestEffectiveAt([change(9, {})], NOW)).toEqual(NOW);
  expect(earliestEffectiveAt([applied("2024-03-15T09:59:59.999Z")], NOW)).toEqual(NOW);
  expect(earliestEffectiveAt([applied("2024-03-15T10:00:00.000Z")], NOW)).toEqual(
    instant("2024-03-15T10:00:00.001Z"),
  );
  expect(earliestEffectiveAt([applied("2024-03-15T10:00:00.007Z")], NOW)).toEqual(
    instant("2024-03-15T10:00:00.008Z"),
  );
});

test("relink() leaves adjacent models different, in whatever order the changes come", () => {
  const applied = change(1, { status: "applied", old_billing_model_id: 1, new_billing_model_id: 2 });
  const pointless = change(2, { old_billing_model_id: 3, new_billing_model_id: 2 });
  const moved = change(3, { old_billing_model_id: 2, new_billing_model_id: 4 });
  const stale = change(4, { old_billing_model_id: 9, new_billing_model_id: 5 });
  const expected = { redundant: [2], relinked: [{ id: 4, old_billing_model_id: 4 }], in_force: 2 };
  expect(relinkTimeline(1, [applied, pointless, moved, stale])).toEqual(expected);
  expect(relinkTimeline(1, [stale, moved, pointless, applied])).toEqual(expected);
});
