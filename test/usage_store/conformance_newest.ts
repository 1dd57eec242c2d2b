/** What every usage store answers when the newest events are asked for again: part of the cases in conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Subject } from "./conformance_search.ts";
import { modelEvent, someEvents } from "./arbitrary_events.ts";
import { propertyCases } from "../support/properties.ts";
import { NOW_MS, TIMEOUT_MS } from "./fixtures.ts";
import { type ModelEvent, sorted } from "./reference_model.ts";

const NEWEST = { sort_by: "timestamp", sort_order: "desc", offset: 0 } as const;

export function newestCases({ store, company }: Subject): void {
  /** The first pages, of these lengths, one after the other. */
  async function expectPages(company_id: number, events: readonly ModelEvent[], limits: readonly number[]) {
    const ids = sorted(events, NEWEST).map(({ id }) => id);
    for (const limit of limits) {
      const { rows, total, next } = await store().search({ ...NEWEST, company_id, limit }, TIMEOUT_MS);
      expect(rows.map(({ id }) => id)).toEqual(ids.slice(0, limit));
      expect(total).toBe(ids.length);
      const last = rows.at(-1);
      const end = last && ids.length > limit ? { value: String(last.timestamp), id: last.id } : null;
      expect(next).toEqual(end);
    }
  }

  test("search() for the newest events knows what was stored since it was asked last, however old that is", async () => {
    const limits = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 });
    const rounds = fc.array(fc.tuple(someEvents, limits), { minLength: 2, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(rounds, async (asked) => {
        const company_id = await company([]);
        const events: ModelEvent[] = [];
        for (const [drawn, wanted] of asked) {
          const more = drawn.map((event) => ({ ...event, id: crypto.randomUUID() }));
          await store().append(company_id, more, NOW_MS);
          events.push(...more);
          await expectPages(company_id, events, wanted);
        }
      }),
      propertyCases(2, 20),
    );
  });

  test("search() for the newest events finds the page among many of the same time, and with fewer than it holds", async () => {
    const events = Array.from({ length: 40 }, () => modelEvent({ timestamp: 5_000 }));
    const company_id = await company(events.slice(0, 3));
    await expectPages(company_id, events.slice(0, 3), [5, 3, 2, 5]);
    await store().append(company_id, events, NOW_MS);
    await expectPages(company_id, events, [5, 40, 39, 41, 5]);
    const earlier = modelEvent({ timestamp: 4_999 });
    await store().append(company_id, [earlier], NOW_MS);
    await expectPages(company_id, [...events, earlier], [5, 40, 41, 42]);
  });
}
