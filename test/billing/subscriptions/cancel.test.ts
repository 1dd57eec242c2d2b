import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Api, type Service, startService, type Tenant, TestClock } from "../../support/harness.ts";
import { addCatalog, type Catalog, subscribe, tally } from "./fixtures.ts";

const NOW = "2026-03-15T10:00:00.000Z";

let service: Service;
let clock: TestClock;
let api: Api;
let catalog: Catalog;

beforeAll(async () => {
  clock = new TestClock(NOW);
  service = await startService({ clock });
  api = service.api;
  catalog = await addCatalog(service);
});
afterAll(() => service.stop());

/** Does something at another time, and comes back to NOW: tokens live for a day. */
async function at<T>(time: string, work: () => Promise<T>): Promise<T> {
  clock.set(time);
  try {
    return await work();
  } finally {
    clock.set(NOW);
  }
}

const cancel = (id: number, when: string) => api("POST", `/subscriptions/${id}/cancel`, { at: when });

describe("cancelling a subscription", () => {
  test("now ends it at once and answers it with its relations", async () => {
    const before = await subscribe(api, catalog, { started_at: "2026-01-10T00:00:00Z" });
    const answer = await cancel(before.id, "now");
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { ...before, status: "cancelled", ends_at: NOW, updated_at: NOW } },
    });
    expect((await api("GET", `/subscriptions/${before.id}`)).body).toEqual(answer.body);
    expect((await api("PUT", `/subscriptions/${before.id}`, { name: "Old" })).status).toBe(200);
  });

  test("period_end keeps it active until then, and no longer", async () => {
    const { id } = await subscribe(api, catalog);
    const answer = await cancel(id, "period_end");
    expect(answer).toMatchObject({
      status: 200,
      body: { data: { status: "active", ends_at: "2026-04-01T00:00:00.000Z" } },
    });
    expect((await api("DELETE", `/clients/${catalog.client_id}`)).status).toBe(409);

    const status = (time: string) =>
      at(time, async () => {
        const signed_in = await service.signIn(service.admin_email);
        return (await signed_in("GET", `/subscriptions/${id}`)).body.data.status;
      });
    expect(await status("2026-03-31T23:59:59.999Z")).toBe("active");
    expect(await status("2026-04-01T00:00:00.000Z")).toBe("cancelled");
  });

  test.each([
    [1, "2026-01-10T00:00:00Z", "2026-04-01T00:00:00.000Z"],
    [15, "2026-01-10T00:00:00Z", "2026-04-15T00:00:00.000Z"],
    [16, "2026-01-10T00:00:00Z", "2026-03-16T00:00:00.000Z"],
    [31, "2026-01-31T00:00:00Z", "2026-03-31T00:00:00.000Z"],
    [31, "2026-03-31T08:00:00Z", "2026-04-30T00:00:00.000Z"],
    [1, "2026-05-01T00:00:00Z", "2026-06-01T00:00:00.000Z"],
    [1, "2026-05-20T00:00:00Z", "2026-06-01T00:00:00.000Z"],
  ])("period_end goes by the anchor day %p from %s", async (billing_anchor_day, started_at, ends_at) => {
    const { id } = await subscribe(api, catalog, { billing_anchor_day, started_at });
    expect((await cancel(id, "period_end")).body.data).toMatchObject({ ends_at, status: "active" });
  });

  test("period_end is midnight where the company is, and a new zone counts from the next period", async () => {
    const tenant: Tenant = await service.addTenant({ timezone: "Asia/Kuala_Lumpur" });
    const goods = await addCatalog(tenant);
    const endOf = async (started_at: string) => {
      const { id } = await subscribe(tenant.api, goods, { started_at });
      return (await tenant.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" })).body.data
        .ends_at;
    };
    expect(await endOf("2026-03-01T00:00:00Z")).toBe("2026-03-31T16:00:00.000Z");
    const company = { name: "Moved", timezone: "UTC", currency: "USD" };
    expect((await tenant.api("PUT", "/company", company)).status).toBe(200);
    expect(await endOf("2026-03-01T00:00:00Z")).toBe("2026-03-31T16:00:00.000Z");
    expect(await endOf("2026-06-02T00:00:00Z")).toBe("2026-07-01T00:00:00.000Z");
  });

  test("one that has not started ends when it starts and never counts as active", async () => {
    const goods = await addCatalog(service);
    const { id } = await subscribe(api, goods, { started_at: "2026-05-20T00:00:00Z" });
    const future = "2026-05-20T00:00:00.000Z";
    const answer = await cancel(id, "now");
    expect(answer.body.data).toMatchObject({ status: "cancelled", started_at: future, ends_at: future });
    expect((await cancel(id, "now")).status).toBe(409);
    expect((await api("DELETE", `/clients/${goods.client_id}`)).status).toBe(200);
    expect((await api("DELETE", `/products/${goods.product_id}`)).status).toBe(200);
    expect((await api("DELETE", `/billing-models/${goods.billing_model_id}`)).status).toBe(200);
  });
});

describe("cancelling a second time", () => {
  test.each([
    ["now", "now", "it is cancelled already"],
    ["now", "period_end", "it is cancelled already"],
    ["period_end", "period_end", "it ends at 2026-04-01T00:00:00.000Z already"],
  ])("%s and then %s is a conflict", async (first, second, state) => {
    const { id } = await subscribe(api, catalog);
    const { body } = await cancel(id, first);
    const again = await cancel(id, second);
    expect(again).toMatchObject({
      status: 409,
      body: { error: `Cannot cancel subscription ${id}: ${state}` },
    });
    expect((await api("GET", `/subscriptions/${id}`)).body).toEqual(body);
  });

  test("period_end and then now brings the end forward", async () => {
    const { id } = await subscribe(api, catalog);
    await cancel(id, "period_end");
    const answer = await cancel(id, "now");
    expect(answer).toMatchObject({ status: 200, body: { data: { status: "cancelled", ends_at: NOW } } });
    expect((await cancel(id, "now")).status).toBe(409);
  });

  test.each(["now", "period_end"])("of twenty at once (%s), exactly one succeeds", async (when) => {
    const { id } = await subscribe(api, catalog);
    const answers = await Promise.all(Array.from({ length: 20 }, () => cancel(id, when)));
    expect(tally(answers)).toEqual({ 200: 1, 409: 19 });
  });

  test("a call that looked at the clock earlier but came later does not undo the one before", async () => {
    const { id } = await subscribe(api, catalog, { started_at: "2026-01-01T00:00:00Z" });
    const ends_at = "2026-03-15T10:00:00.005Z";
    expect((await at(ends_at, () => cancel(id, "now"))).body.data.ends_at).toBe(ends_at);
    expect((await cancel(id, "now")).status).toBe(409);
  });
});
