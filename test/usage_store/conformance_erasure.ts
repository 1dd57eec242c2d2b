/** What every usage store does when metadata is erased, as cases: part of the cases in conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ErasureQuery } from "../../src/usage_store/port.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import { anyFilter, anyGroups, modelEvent, someEvents } from "./arbitrary_events.ts";
import type { Subject } from "./conformance_search.ts";
import { erased, groups, inOrder, matching, type ModelEvent, sorted } from "./reference_model.ts";
import { propertyCases } from "../support/properties.ts";
import { FIRST_PAGE, failure, NOW_MS, PROPERTY_MS, TIMEOUT_MS, TOTAL } from "./fixtures.ts";

const ERASED = { erased: true };

export function erasureCases({ store, company }: Subject): void {
  const lastSeq = (company_id: number) => store().lastSeq(company_id, TIMEOUT_MS);

  /** Erases all that a query finds, by few at a time; the ids it erased. */
  async function eraseAll(query: ErasureQuery, limit = 7): Promise<string[]> {
    const all: string[] = [];
    for (;;) {
      const ids = await store().findUnerased(query, limit, TIMEOUT_MS);
      if (ids.length === 0) return all.toSorted();
      await store().erase(query.company_id, ids);
      all.push(...ids);
    }
  }

  const metadataOf = async (company_id: number) =>
    new Map(
      (await store().search({ ...FIRST_PAGE, limit: 200, company_id }, TIMEOUT_MS)).rows.map(
        ({ id, metadata }) => [id, metadata],
      ),
    );

  test("an erased event keeps id, time and usage; all else about the company stays", async () => {
    const secret = modelEvent({ object: { person: "Ada" }, millionths: 2_500_000n, subscription_id: 2 });
    const other = modelEvent({ object: { person: "Bob" } });
    const company_id = await company([secret, other]);
    const neighbour = await company([secret]);
    const windows = [1, 2].map((subscription_id) => ({ subscription_id, start_ms: 0, end_ms: NOW_MS }));
    const totals = () => store().totals(company_id, windows, { timeout_ms: TIMEOUT_MS });
    const before = await totals();
    const query = { company_id, metadata: { person: "Ada" }, last_seq: await lastSeq(company_id) };
    expect(await eraseAll(query)).toEqual([secret.id]);
    expect(await totals()).toEqual(before);
    const page = await store().search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS);
    expect(page.rows.find(({ id }) => id === secret.id)).toMatchObject({
      subscription_id: 2,
      timestamp: secret.timestamp,
      usage: "2.5",
      metadata: ERASED,
    });
    expect((await metadataOf(company_id)).get(other.id)).toEqual({ person: "Bob" });
    expect((await metadataOf(neighbour)).get(secret.id)).toEqual({ person: "Ada" });
    expect(await store().check(company_id, TIMEOUT_MS)).toMatchObject({ events: 2, different: 0 });
  });

  test("a repeat of an erased event is a duplicate whatever its metadata, and other content is a conflict", async () => {
    const event = modelEvent({ object: { person: "Ada" } });
    const company_id = await company([event]);
    await store().erase(company_id, [event.id]);
    const append = (changed: Partial<ModelEvent>) =>
      store().append(company_id, [{ ...event, ...changed }], NOW_MS);
    const same = { accepted: 0, duplicates: 1 };
    expect(await append({})).toEqual(same);
    expect(await append({ metadata: null })).toEqual(same);
    expect(await append({ metadata: canonicalJson({ person: "Bob" }) })).toEqual(same);
    expect((await failure(append({ usage: "7" }))).kind).toBe("conflict");
    expect((await failure(append({ subscription_id: 9 }))).kind).toBe("conflict");
    expect([...(await metadataOf(company_id)).values()]).toEqual([ERASED]);
  });

  test("erase() passes over ids that the company does not have, and may be repeated", async () => {
    const [event, other] = [modelEvent({ object: { a: 1 } }), modelEvent({ object: { a: 2 } })];
    const company_id = await company([event]);
    const neighbour = await company([other]);
    await store().erase(company_id, []);
    await store().erase(company_id, [crypto.randomUUID()]);
    await store().erase(company_id, [event.id, other.id, crypto.randomUUID()]);
    await store().erase(company_id, [event.id, event.id]);
    expect([...(await metadataOf(company_id)).values()]).toEqual([ERASED]);
    expect([...(await metadataOf(neighbour)).values()]).toEqual([{ a: 2 }]);
  });

  test("what is stored after `last_seq` is left", async () => {
    const event = modelEvent({ object: { a: 1 } });
    const company_id = await company([event]);
    const last_seq = await lastSeq(company_id);
    const later = modelEvent({ object: { a: 1 } });
    await store().append(company_id, [later], NOW_MS);
    expect(await eraseAll({ company_id, last_seq })).toEqual([event.id]);
    expect((await metadataOf(company_id)).get(later.id)).toEqual({ a: 1 });
  });

  test("events that arrive and questions that are asked meanwhile miss nothing and count nothing twice", async () => {
    const events = Array.from({ length: 60 }, (_, i) => modelEvent({ object: { part: i % 3 } }));
    const company_id = await company(events);
    const query = { company_id, metadata: { part: "1" }, last_seq: await lastSeq(company_id) };
    const erasing = eraseAll(query, 3);
    let stored = 60;
    const appending = (async () => {
      for (let i = 0; i < 10; i++) {
        await store().append(company_id, [modelEvent({ object: { part: 1 } })], NOW_MS);
        stored++;
      }
    })();
    for (let i = 0; i < 10; i++) {
      const least = stored;
      const found = await store().aggregate(
        { ...TOTAL, company_id, group_by: ["metadata:part"] },
        TIMEOUT_MS,
      );
      const all = found.reduce((sum, { event_count }) => sum + event_count, 0);
      expect(all).toBeGreaterThanOrEqual(least);
      expect(found.find(({ keys }) => keys[0] === "2")?.event_count).toBe(20);
    }
    expect(await erasing).toHaveLength(20);
    await appending;
    const found = await store().aggregate({ ...TOTAL, company_id, group_by: ["metadata:part"] }, TIMEOUT_MS);
    expect(inOrder(found).map(({ keys, event_count }) => [keys[0], event_count])).toEqual([
      ["0", 20],
      ["1", 10],
      ["2", 20],
      [null, 20],
    ]);
  });

  test(
    "it answers as the plain model does, group sums by metadata included",
    async () => {
      await fc.assert(
        fc.asyncProperty(someEvents, anyFilter, anyFilter, anyGroups, async (events, which, filter, how) => {
          const company_id = await company(events);
          const { subscription_ids, start_ms, end_ms, metadata } = which;
          const conditions = { company_id, subscription_ids, start_ms, end_ms, metadata };
          const by_key = { ...TOTAL, company_id, ...how, max_groups: 10_000 };
          // Asked for often enough that there are sums by it.
          for (let i = 0; i < 3; i++) await store().aggregate(by_key, TIMEOUT_MS);
          const ids = matching(events, conditions)
            .map(({ id }) => id)
            .toSorted();
          expect(await eraseAll({ ...conditions, last_seq: await lastSeq(company_id) })).toEqual(ids);
          const left = erased(events, new Set(ids));
          const question = { ...by_key, ...filter };
          expect(inOrder(await store().aggregate(question, TIMEOUT_MS))).toEqual(
            inOrder(groups(matching(left, question), question)),
          );
          expect(inOrder(await store().aggregate(by_key, TIMEOUT_MS))).toEqual(inOrder(groups(left, by_key)));
          const page = { ...FIRST_PAGE, ...filter, company_id };
          expect(
            (await store().search(page, TIMEOUT_MS)).rows.map(({ id, metadata: found }) => [id, found]),
          ).toEqual(
            sorted(matching(left, page), page)
              .slice(0, page.limit)
              .map(({ id, object }) => [id, object]),
          );
          expect(await store().check(company_id, TIMEOUT_MS)).toMatchObject({ different: 0 });
        }),
        propertyCases(12),
      );
    },
    PROPERTY_MS,
  );
}
