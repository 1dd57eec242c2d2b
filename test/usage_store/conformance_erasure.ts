/** What every usage store does when metadata is erased, as cases: part of the cases in conformance.ts. */
import { expect, test } from "bun:test";
import * as fc from "fast-check";
import type { ErasureQuery } from "../../src/usage_store/erasures.ts";
import { canonicalJson } from "../../src/usage_store/metadata.ts";
import { anyFilter, anyGroups, anyKey, modelEvent, someEvents } from "./arbitrary_events.ts";
import type { Subject } from "./conformance_search.ts";
import { erased, groups, inOrder, matching, type ModelEvent, sorted } from "./reference_model.ts";
import { propertyCases, TESTS_ALL } from "../support/properties.ts";
import { FIRST_PAGE, failure, NOW_MS, TIMEOUT_MS, TOTAL } from "./fixtures.ts";

const ERASED = { erased: true };
/** Appends and questions while events are erased. */
const ROUNDS = TESTS_ALL ? 10 : 5;

export function erasureCases({ store, company }: Subject): void {
  const lastSeq = (company_id: number) => store().lastSeq(company_id, TIMEOUT_MS);

  /** Erases all that a query finds, by few at a time; the ids it erased. */
  async function eraseAll(query: ErasureQuery, limit = 7): Promise<string[]> {
    const all: string[] = [];
    for (;;) {
      const ids = await store().findUnerased(query, limit, TIMEOUT_MS);
      if (ids.length === 0) return all.toSorted();
      await store().erase(query.company_id, ids, query.keep);
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

  test("the stored ids are found with their subscriptions, erased or not, and no other company's", async () => {
    const [erased_one, other] = [modelEvent({ subscription_id: 2 }), modelEvent({ subscription_id: 3 })];
    const company_id = await company([erased_one, other]);
    const neighbour = await company([modelEvent({})]);
    await store().erase(company_id, [erased_one.id]);
    const ids = [other.id, crypto.randomUUID(), erased_one.id];
    const found = await store().findStored(company_id, ids, TIMEOUT_MS);
    expect(found.toSorted((a, b) => a.subscription_id - b.subscription_id)).toEqual([
      { id: erased_one.id, subscription_id: 2 },
      { id: other.id, subscription_id: 3 },
    ]);
    expect(await store().findStored(neighbour, ids, TIMEOUT_MS)).toEqual([]);
    expect(await store().findStored(company_id, [], TIMEOUT_MS)).toEqual([]);
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

  test("what is at the keys to keep stays, and a repeat is a duplicate still", async () => {
    const objects = [
      { person: "Ada", model: "large", tokens: { input: 7 }, "a.b": null },
      { person: "Ada", model: { name: "Ada" }, tokens: { input: "8", output: 9 }, a: { b: true } },
      { person: "Bob", model: "small" },
      { erased: true, model: ["Ada"] },
    ];
    const events = objects.map((object) => modelEvent({ object }));
    const bare = modelEvent({ object: null });
    const company_id = await company([...events, bare]);
    const last_seq = await lastSeq(company_id);
    const keep = ["model", "tokens.input", "a.b", "a", "o'k"];
    const named = { company_id, metadata: { person: "Ada" }, last_seq, keep };
    expect(await eraseAll(named, 1)).toEqual([events[0]?.id ?? "", events[1]?.id ?? ""].toSorted());
    const of = async () => {
      const found = await metadataOf(company_id);
      return [...events, bare].map(({ id }) => found.get(id));
    };
    expect(await of()).toEqual([
      { "a.b": null, erased: true, model: "large", "tokens.input": 7 },
      { "a.b": true, erased: true, "tokens.input": "8" },
      { person: "Bob", model: "small" },
      { erased: true, model: ["Ada"] },
      null,
    ]);
    const [first] = events;
    if (first === undefined) throw new Error("there is no event");
    const repeat = (object: object) => {
      const metadata = canonicalJson({ ...object });
      return store().append(company_id, [{ ...first, metadata }], NOW_MS);
    };
    const kept = { model: "large", tokens: { input: 7 }, "a.b": null };
    expect(await repeat({ person: "Eve", ...kept })).toMatchObject({ duplicates: 1 });
    expect((await failure(repeat({ ...kept, model: "small" }))).kind).toBe("conflict");
    const marked = modelEvent({ object: { erased: true, file: "a" } });
    const other = await company([marked]);
    const sent = { ...marked, metadata: canonicalJson({ erased: true, file: "b" }) };
    expect((await failure(store().append(other, [sent], NOW_MS))).kind).toBe("conflict");
    await eraseAll({ company_id, last_seq, keep: ["model"] });
    expect(await of()).toEqual([
      { erased: true, model: "large" },
      ERASED,
      { erased: true, model: "small" },
      ERASED,
      ERASED,
    ]);
  });

  test("what is kept of long metadata stays, however much is erased at once", async () => {
    const text = "x".repeat(15_000);
    const events = Array.from({ length: 120 }, (_, i) =>
      modelEvent({ object: { person: text, model: i % 3 === 0 ? text : `m${i}`, n: i } }),
    );
    const company_id = await company(events);
    await store().erase(
      company_id,
      events.map(({ id }) => id),
      ["model"],
    );
    const found = await metadataOf(company_id);
    expect(events.map(({ id }) => found.get(id))).toEqual(
      events.map((_, i) => ({ erased: true, model: i % 3 === 0 ? text : `m${i}` })),
    );
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

  test("what is kept of an event is not written over another company's event of the same id", async () => {
    const event = modelEvent({ object: { person: "Ada", model: "large" } });
    const company_id = await company([event]);
    const theirs = { person: "Zoe", model: "small" };
    const neighbour = await company([modelEvent({ id: event.id, object: theirs })]);
    await store().erase(company_id, [event.id], ["model"]);
    expect([...(await metadataOf(company_id)).values()]).toEqual([{ erased: true, model: "large" }]);
    expect([...(await metadataOf(neighbour)).values()]).toEqual([theirs]);
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
    const erasing = eraseAll(query, TESTS_ALL ? 3 : 7);
    let stored = 60;
    const appending = (async () => {
      for (let i = 0; i < ROUNDS; i++) {
        await store().append(company_id, [modelEvent({ object: { part: 1 } })], NOW_MS);
        stored++;
      }
    })();
    for (let i = 0; i < ROUNDS; i++) {
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
      ["1", ROUNDS],
      ["2", 20],
      [null, 20],
    ]);
  });

  test("it answers as the plain model does, group sums by metadata included", async () => {
    await fc.assert(
      fc.asyncProperty(
        someEvents,
        anyFilter,
        anyFilter,
        anyGroups,
        fc.uniqueArray(anyKey, { maxLength: 3 }),
        async (events, which, filter, how, keep) => {
          const company_id = await company(events);
          const { subscription_ids, start_ms, end_ms, metadata } = which;
          const conditions = { company_id, subscription_ids, start_ms, end_ms, metadata };
          const by_key = { ...TOTAL, company_id, ...how, max_groups: 10_000 };
          // Asked for often enough that there are sums by it.
          for (let i = 0; i < 3; i++) await store().aggregate(by_key, TIMEOUT_MS);
          const ids = matching(events, conditions)
            .map(({ id }) => id)
            .toSorted();
          expect(await eraseAll({ ...conditions, last_seq: await lastSeq(company_id), keep })).toEqual(ids);
          const left = erased(events, new Set(ids), keep);
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
        },
      ),
      propertyCases(2, 30),
    );
  });
}
