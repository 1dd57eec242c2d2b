import { beforeAll, describe, expect, test } from "bun:test";
import { type Api, type Json, type Tenant, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { packIds, unpackIds } from "../../../src/usage/erasures/packed_ids.ts";
import { listErasedIds, repeatAllErasures } from "../../../src/usage/erasures/queries.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { addSubscription, ms, search, send, uuid } from "../fixtures.ts";

const service = useService();
let other: Tenant;
const ERASED = { erased: true };
const AT = ms("2026-01-05T10:00:00Z");

const event = (number: number, person: string, subscription = "s1") => ({
  id: uuid(number),
  external_subscription_id: subscription,
  timestamp: AT + number,
  usage: number,
  metadata: { person, plan: "gold" },
});

beforeAll(async () => {
  other = await service.addTenant();
  for (const tenant of [service, other]) {
    await addSubscription(tenant, "s1");
    await addSubscription(tenant, "s2");
    const people = [event(1, "Ada"), event(2, "Bob"), event(3, "Ada", "s2"), event(4, "Eve", "s2")];
    await send(tenant.api, people);
  }
});

async function erase(body: Json, api: Api = service.api): Promise<Json> {
  const answer = await api("POST", "/usage/erasures", body);
  expect(answer.status).toBe(202);
  expect(answer.body.data).toMatchObject({ status: "pending", erased: 0, finished_at: null });
  await runNamedJob(service, "usage_erasures");
  const [newest] = (await api("GET", "/usage/erasures")).body.data;
  expect(newest).toMatchObject({ id: answer.body.data.id, status: "done" });
  return newest;
}

/** A stored event, as it would be sent to the store. */
async function storedEvent(number: number) {
  const query = {
    company_id: service.company_id,
    sort_by: "usage",
    sort_order: "asc",
    limit: 9,
    offset: 0,
  } as const;
  const { rows } = await service.deps.usage.search(query, 10_000);
  const found = rows.find(({ id }) => id === uuid(number));
  if (found === undefined) throw new Error(`There is no event ${number}`);
  return { ...found, timestamp_given: true };
}

/** The metadata of the company's events, by the number of their id. */
async function metadata(api: Api = service.api): Promise<Json[]> {
  const { data } = await search(api, { sort_by: "usage", sort_order: "asc" });
  return data.map((one: Json) => one.metadata);
}

test("a metadata pair, a subscription, ids or a time lose their metadata, and nothing else does", async () => {
  const sums = { aggregate: true, group_by: ["subscription", "day"] };
  const before = await search(service.api, sums);
  expect(await erase({ metadata: { person: "Ada" }, external_subscription_ids: ["s1"] })).toMatchObject({
    erased: 1,
    metadata_keys: ["person"],
    ids: null,
    subscription_ids: [expect.any(Number)],
  });
  expect(await metadata()).toEqual([
    ERASED,
    { person: "Bob", plan: "gold" },
    expect.anything(),
    expect.anything(),
  ]);
  expect(await erase({ ids: [uuid(2).toUpperCase(), uuid(99)] })).toMatchObject({ erased: 1, ids: 2 });
  expect(await erase({ start_time: AT + 4, end_time: AT + 5 })).toMatchObject({
    erased: 1,
    start_time: AT + 4,
  });
  expect(await metadata()).toEqual([ERASED, ERASED, { person: "Ada", plan: "gold" }, ERASED]);
  expect(await erase({ metadata: { person: "Nobody" } })).toMatchObject({ erased: 0 });
  expect(await search(service.api, sums)).toEqual(before);
  expect(await metadata(other.api)).not.toContainEqual(ERASED);
  const by_person = await search(service.api, { aggregate: true, group_by: "metadata:person" });
  expect(by_person.data.map((one: Json) => [one.group_key, one.total_usage])).toEqual([
    [null, 7],
    ["Ada", 3],
  ]);
});

test("a repeat is a duplicate whatever its metadata, also through the front door", async () => {
  const repeat = await send(service.api, { ...event(1, "Ada"), metadata: { person: "Someone" } });
  expect([repeat.status, repeat.body.data ?? repeat.body]).toEqual([201, { accepted: 0, duplicates: 1 }]);
  expect((await send(service.api, { ...event(1, "Ada"), usage: 17 })).status).toBe(409);
});

describe("what is kept of it", () => {
  test("the audit log has the erasure, without the metadata that it went by", async () => {
    const { data } = (await service.api("GET", "/audit-log?operation=erase_usage")).body;
    expect(data).toHaveLength(4);
    expect(data.at(-1)).toMatchObject({
      target: { type: "usage_erasure" },
      input: { external_subscription_ids: ["s1"] },
    });
    expect(JSON.stringify(data)).not.toMatch(/Ada|Nobody|person/);
  });

  test("the rows say nothing of people when it is done, and the ids of the events are on record", async () => {
    const { store } = service.deps;
    const rows = await store.read.run("SELECT * FROM usage_erasures", [], false);
    expect(JSON.stringify(rows)).not.toMatch(/Ada|Nobody/);
    const tx = { q: store.read, scope: { company_id: service.company_id }, now: service.deps.clock.now() };
    const ids = (await listErasedIds(tx, {}, 100)).flatMap((row) => unpackIds(row.ids));
    expect(ids.toSorted()).toEqual([uuid(1), uuid(2), uuid(4)]);
    expect(unpackIds(packIds([uuid(7), uuid(8)]))).toEqual([uuid(7), uuid(8)]);
    expect(unpackIds(packIds([]))).toEqual([]);
  });

  test("they are listed in pages, newest first, and only one's own", async () => {
    const page = (await service.api("GET", "/usage/erasures?page=2&limit=3")).body;
    expect(page.meta).toMatchObject({ page: 2, total: 4, total_pages: 2 });
    expect(page.data).toHaveLength(1);
    expect((await other.api("GET", "/usage/erasures")).body.data).toEqual([]);
  });

  test("after a restore all are carried out again, and those since by the ids beside the backups", async () => {
    const { store, usage } = service.deps;
    await usage.append(
      service.company_id,
      [{ ...(await storedEvent(3)), id: uuid(5), metadata: canonicalJson({ person: "Ada" }) }],
      AT,
    );
    const later = { id: 7, company_id: service.company_id, ids: packIds([uuid(5), uuid(3)]) };
    await store.tx((q) => repeatAllErasures(q, service.deps.clock.now(), [later]));
    await runNamedJob(service, "usage_erasures");
    const { data, meta } = (await service.api("GET", "/usage/erasures")).body;
    expect(data.map((one: Json) => one.status)).toEqual(Array(5).fill("done"));
    expect([meta.total, data[0].erased]).toEqual([5, 2]);
    expect(await metadata()).toEqual([ERASED, ERASED, ERASED, ERASED, ERASED]);
    expect(await metadata(other.api)).not.toContainEqual(ERASED);
  });
});

describe("it is refused", () => {
  test("without a condition, and for what is not the company's", async () => {
    const refused = async (body: Json) => {
      const { status, body: answer } = await service.api("POST", "/usage/erasures", body);
      return [status, JSON.stringify(answer)];
    };
    expect(await refused({})).toEqual([422, expect.stringContaining("at least one of subscription_ids")]);
    expect((await refused({ metadata: {} }))[0]).toBe(422);
    expect((await refused({ ids: ["no-uuid"] }))[0]).toBe(422);
    const foreign = (await other.api("GET", "/subscriptions")).body.data[0].id;
    expect((await refused({ subscription_ids: [foreign] }))[0]).toBe(403);
  });

  test("to all but admins: it can't be undone", async () => {
    for (const role of ["manager", "analyst"] as const) {
      const api = await service.addUser(service, role);
      expect((await api("POST", "/usage/erasures", { metadata: { person: "Ada" } })).status).toBe(403);
      expect((await api("GET", "/usage/erasures")).status).toBe(403);
    }
    const { data } = (await service.api("GET", "/audit-log?limit=100")).body;
    expect(JSON.stringify(data)).not.toContain("Ada");
  });
});
