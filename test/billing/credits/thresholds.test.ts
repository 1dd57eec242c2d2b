import { beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { companyTimezoneTable } from "../../../src/tenancy/companies/tables.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";
import { outboxOf } from "../billing_model_changes/fixtures.ts";
import { JANUARY, NOW, plan } from "./fixtures.ts";

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
});

describe("thresholds", () => {
  const look = () => runNamedJob(billing.service, "credit_thresholds");
  const told = async (of: Company, id: number) =>
    (await outboxOf(billing.service, of, id))
      .filter((row) => row.type === "credits.threshold_reached")
      .map(({ data }) => [data.month_start.slice(0, 7), data.threshold, data.consumed, data.allocated]);

  test("are announced once a month each, also by many checks at once", async () => {
    billing.clock.set(NOW);
    const own = await billing.addCompany();
    const id = await own.subscribe(await own.addModel(plan(1000)), JANUARY);
    await own.use(id, [NOW, "799"]);
    await look();
    expect(await told(own, id)).toEqual([]);
    await own.use(id, [NOW, "0.5"]);
    await Promise.all([look(), look(), look()]);
    await look();
    expect(await told(own, id)).toEqual([["2024-03", 80, 800, 1000]]);
    await own.use(id, [NOW, "5000"]);
    await Promise.all([look(), look(), look()]);
    expect(await told(own, id)).toEqual([
      ["2024-03", 80, 800, 1000],
      ["2024-03", 100, 5800, 1000],
    ]);
    billing.clock.set("2024-04-01T00:00:30Z");
    await look();
    expect(await told(own, id)).toHaveLength(2);
    await own.use(id, ["2024-04-01T00:00:10Z", "1000"]);
    await look();
    expect((await told(own, id)).slice(2)).toEqual([
      ["2024-04", 80, 1000, 1000],
      ["2024-04", 100, 1000, 1000],
    ]);
    billing.clock.set(NOW);
  });

  test("are announced once also when the zone's rules turn out to be others within the month", async () => {
    // Almaty moved by an hour on 1 March 2024; Omsk has kept the old rules.
    billing.clock.set("2024-04-10T00:00:00Z");
    const own = await billing.addCompany({ timezone: "Asia/Omsk" });
    const id = await own.subscribe(await own.addModel(plan(15)), { started_at: "2024-04-02T00:00:00Z" });
    await own.use(id, ["2024-04-09T00:00:00Z", "12"]);
    await look();
    expect(await told(own, id)).toHaveLength(1);
    await billing.service.deps.store.tx(async (q) => {
      const t = q.use(companyTimezoneTable);
      await q.update(t).set({ timezone: "Asia/Almaty" }).where(eq(t.company_id, own.company_id));
    });
    await look();
    expect(await told(own, id)).toHaveLength(1);
    await own.use(id, ["2024-04-09T00:00:00Z", "3"]);
    await look();
    await look();
    expect((await told(own, id)).map(([, threshold]) => threshold)).toEqual([80, 100]);
    billing.clock.set(NOW);
  });

  test("that the last minute of a month reached are announced in the next one", async () => {
    const own = await billing.addCompany();
    billing.clock.set("2024-03-31T23:59:50Z");
    const id = await own.subscribe(await own.addModel(plan(10)), JANUARY);
    await own.use(id, ["2024-03-31T23:59:50Z", "8"]);
    billing.clock.set("2024-04-01T00:00:30Z");
    await look();
    expect(await told(own, id)).toEqual([["2024-03", 80, 8, 10]]);
    billing.clock.set(NOW);
  });

  test("are not those of subscriptions that use nothing, have no credits or have ended", async () => {
    billing.clock.set(NOW);
    const own = await billing.addCompany();
    const idle = await own.subscribe(await own.addModel(plan(0)), JANUARY);
    const flat = await own.subscribe(FLAT, JANUARY);
    const ended = await own.subscribe(await own.addModel(plan(1)), JANUARY);
    await own.use(flat, [NOW, "9"]);
    await own.use(ended, ["2024-03-02T00:00:00Z", "9"]);
    await own.api("POST", `/subscriptions/${ended}/cancel`, { at: "now" });
    billing.clock.set("2024-03-15T12:00:00Z");
    await look();
    expect([await told(own, idle), await told(own, flat), await told(own, ended)]).toEqual([[], [], []]);
    billing.clock.set(NOW);
  });
});
