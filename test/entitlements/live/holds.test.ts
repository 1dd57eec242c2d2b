import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Hold } from "../../../src/app/live_limits.ts";
import { sum } from "../../../src/core/money.ts";
import { Holds } from "../../../src/entitlements/live/holds.ts";

const FROM_MS = 1_800_000_000_000;

const step = fc.oneof(
  fc.record({
    kind: fc.constant("add" as const),
    units: fc.constantFrom("0", "0.000001", "2", "12345678901234567890.5"),
    seconds: fc.constantFrom(1, 2, 86_400),
    subscription_id: fc.integer({ min: 1, max: 2 }),
    group: fc.constantFrom<Record<string, string>>({}, { model: "a" }, { model: "b", region: "a" }),
  }),
  fc.record({ kind: fc.constant("remove" as const), index: fc.nat(20) }),
  fc.constant({ kind: "remove_ended" as const }),
  fc.record({
    kind: fc.constant("wait" as const),
    ms: fc.constantFrom(0, 1, 400, 999, 1_000, 5_000, 90_000_000),
  }),
);

test("what is held is the sum of the holds that have not ended, in all and of a group", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const holds = new Holds();
      const all = new Map<string, Hold>();
      let now_ms = FROM_MS;
      for (const one of steps) {
        if (one.kind === "wait") now_ms += one.ms;
        else if (one.kind === "remove") {
          const id = [...all.keys()][one.index] ?? "none";
          expect(holds.remove(1, id)).toBe(all.get(id) as Hold);
          all.delete(id);
        } else if (one.kind === "remove_ended") {
          holds.removeEnded(1, now_ms);
          for (const [id, { expires_ms }] of all) if (expires_ms <= now_ms) all.delete(id);
        } else {
          const { subscription_id, units, group, seconds } = one;
          const reservation_id = String(all.size) + crypto.randomUUID();
          const expires_ms = now_ms + seconds * 1_000;
          const hold = {
            company_id: 1,
            feature_id: 7,
            reservation_id,
            subscription_id,
            units,
            group,
            expires_ms,
          };
          holds.add(hold);
          all.set(reservation_id, hold);
        }
        expect(holds.count(1)).toBe(all.size);
        for (const subscription_id of [1, 2])
          for (const per of [null, { key: "model", value: "a" }, { key: "region", value: "a" }]) {
            const running = [...all.values()].filter(
              (hold) =>
                hold.subscription_id === subscription_id &&
                hold.expires_ms > now_ms &&
                (per === null || hold.group[per.key] === per.value),
            );
            const held = holds.heldAt(now_ms, { subscription_id, feature_id: 7, per });
            expect(held).toBe(sum(running.map(({ units }) => units)));
          }
      }
    }),
  );
});

test("one that ended decades ago, as after a restore, ends without a step for each second since", () => {
  const holds = new Holds();
  const place = { company_id: 1, subscription_id: 1, feature_id: 7, units: "2", group: {} };
  holds.add({ ...place, reservation_id: "old", expires_ms: 1_000 });
  holds.add({ ...place, reservation_id: "soon", expires_ms: FROM_MS + 400 });
  const heldAt = (ms: number) => holds.heldAt(ms, { subscription_id: 1, feature_id: 7, per: null });
  expect([heldAt(FROM_MS), heldAt(FROM_MS + 399), heldAt(FROM_MS + 400)]).toEqual(["2", "2", "0"]);
});
