import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { nextQueryAt } from "../../../src/emandate/orders/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const began = Temporal.Instant.from("2026-03-10T04:00:00Z");
const after = (ms: number) => began.add({ milliseconds: ms });

/** The times of all status queries of an order that never gets a result, in minutes. */
function times(connector: "fpx" | "sandbox"): number[] {
  const found: number[] = [];
  for (let next = nextQueryAt(connector, began, began); next !== null; ) {
    found.push(began.until(next).total("minutes"));
    next = nextQueryAt(connector, began, next);
  }
  return found;
}

test("queried after 5, 15 and 60 minutes, then each hour up to the 48th", () => {
  const hours = Array.from({ length: 48 }, (_, i) => (i + 1) * 60);
  expect(times("fpx")).toEqual([5, 15, ...hours]);
  expect(times("sandbox")).toEqual([2 / 60, 5, 15, ...hours]);
});

test("the next query is always ahead, whenever the last one was, also before the beginning", () => {
  fc.assert(
    fc.property(fc.integer({ min: -1e9, max: 3e8 }), (ms) => {
      const next = nextQueryAt("fpx", began, after(ms));
      if (next === null) expect(ms).toBeGreaterThanOrEqual(48 * 3_600_000);
      else {
        expect(Temporal.Instant.compare(next, after(ms))).toBe(1);
        expect(times("fpx")).toContain(began.until(next).total("minutes"));
      }
    }),
    propertyCases(300),
  );
});
