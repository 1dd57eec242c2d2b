import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { FairWork } from "../../src/core/fair_scheduler.ts";
import { propertyCases } from "../support/properties.ts";

/** Work that goes on until it is told to end. */
function held() {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  const work = (owner: number): Promise<void> => {
    begun.push(owner);
    return new Promise((resolve) => ends.set(owner, resolve));
  };
  const end = async (owner: number) => {
    ends.get(owner)?.();
    ends.delete(owner);
    await Bun.sleep(0);
  };
  return { begun, work, end, underway: () => [...ends.keys()] };
}

test("one that does not end keeps nobody waiting but itself", async () => {
  const share = new FairWork(2);
  const { begun, work, end } = held();
  share.begin([1, 2, 3], work);
  expect(begun).toEqual([1, 2]);
  for (const owner of [2, 3, 2, 3]) {
    await end(owner);
    share.begin([1, 2, 3], work);
  }
  expect(begun).toEqual([1, 2, 3, 2, 3, 2]);
  await end(1);
  await end(2);
  await share.idle();
});

test("whoever waited longest comes first", async () => {
  const share = new FairWork(1);
  const { begun, work, end } = held();
  for (let i = 0; i < 6; i++) {
    share.begin([1, 2, 3], work);
    await end(begun.at(-1) ?? 0);
  }
  expect(begun).toEqual([1, 2, 3, 1, 2, 3]);
});

test("all of it is done once, never more at a time than there is room for", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.nat(50), { maxLength: 20 }),
      fc.integer({ min: 1, max: 5 }),
      async (owners, at_once) => {
        let [now, most] = [0, 0];
        const done: number[] = [];
        await new FairWork(at_once).finish([...owners, ...owners], async (owner) => {
          most = Math.max(most, ++now);
          await Bun.sleep(0);
          now--;
          done.push(owner);
        });
        expect(done.toSorted((a, b) => a - b)).toEqual(owners.toSorted((a, b) => a - b));
        expect(most).toBeLessThanOrEqual(at_once);
      },
    ),
    propertyCases(50),
  );
});
