import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { companyTimezoneTable } from "../../../src/tenancy/companies/tables.ts";
import { FLAT } from "../../billing/fixtures.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

// On 1 March 2024 Kazakhstan moved Almaty from +06 to +05. Omsk has kept +06: it stands for the zone's old rules.

const limits = useLimits();

/** A subscription whose billed months end at 18:00 UTC, with five units in the first hour of April. */
async function addBilled(): Promise<{ company: LimitedCompany; id: number; month: () => Promise<unknown> }> {
  limits.clock.set("2024-04-12T00:00:00Z");
  const company = await limits.addLimited({ timezone: "Asia/Omsk" });
  const external_subscription_id = "billed";
  const started_at = "2024-01-31T18:00:00Z";
  const model_id = await company.addModel({ ...FLAT, entitlements: [MONTHLY] });
  const id = await company.subscribe(model_id, { external_subscription_id, started_at });
  await company.send(external_subscription_id, {
    usage: 5,
    timestamp: Date.parse("2024-03-31T18:30:00Z"),
  });
  await company.run();
  const month = async () => {
    const { used, resets_at, certain } = (await company.check(external_subscription_id)).body.data;
    return { used, resets_at, certain };
  };
  return { company, id, month };
}

test("a month begins where the last bill ended, whatever the zone's rules say by now", async () => {
  const { company, id, month } = await addBilled();
  expect(await month()).toEqual({ used: "5", resets_at: "2024-04-30T18:00:00.000Z", certain: true });
  await limits.service.deps.store.tx(async (q) => {
    const t = q.use(companyTimezoneTable);
    await q.update(t).set({ timezone: "Asia/Almaty" }).where(eq(t.company_id, company.company_id));
  });
  const { from, to } = (await company.api("GET", `/subscriptions/${id}/preview`)).body.data;
  expect([from, to]).toEqual(["2024-03-31T18:00:00.000Z", "2024-04-30T19:00:00.000Z"]);
  expect(await month()).toEqual({ used: "5", resets_at: to, certain: true });
  const [listed] = (await company.api("GET", `/subscriptions/${id}/entitlements`)).body.data;
  expect(listed).toMatchObject({ used: "5", resets_at: to });
  // The job watches the same window, and its total is that of the events.
  await runNamedJob(limits.service, "limits_watch");
  expect(await runNamedJob(limits.service, "limits_check")).toBe(true);
  expect(await month()).toEqual({ used: "5", resets_at: to, certain: true });
});

test("another zone of the company moves no month that runs", async () => {
  const { company, month } = await addBilled();
  const before = await month();
  const { name, currency } = (await company.api("GET", "/company")).body.data;
  const moved = await company.api("PUT", "/company", { name, currency, timezone: "Pacific/Auckland" });
  expect(moved.status).toBe(200);
  expect(await month()).toEqual(before);
});
