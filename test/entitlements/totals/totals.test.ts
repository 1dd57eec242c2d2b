import { beforeAll, expect, test } from "bun:test";
import { runNamedJob } from "../../support/jobs.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

const limits = useLimits();
let company: LimitedCompany;

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});

test("totals of every limit are kept from a start on, and of none that was taken away", async () => {
  const { running_totals } = limits.service.deps.usage;
  const { external, id } = await company.entitle(MONTHLY, { ...MONTHLY, window: "day", per: "model" });
  const heard: string[] = [];
  const stop = running_totals.listen((event) => heard.push(event.id));
  const send = async () => {
    const sent = crypto.randomUUID();
    await company.send(external, { id: sent, usage: 4, metadata: { model: "large" } });
    return heard.includes(sent);
  };
  expect(await send()).toBe(false);
  await runNamedJob(limits.service, "limits_watch");
  expect(await send()).toBe(true);
  expect(await runNamedJob(limits.service, "limits_check")).toBe(true);
  await company.api("PUT", `/subscriptions/${id}/entitlements/tokens`, { enabled: false });
  await runNamedJob(limits.service, "limits_watch");
  expect(await send()).toBe(false);
  stop();
  await company.api("DELETE", `/subscriptions/${id}/entitlements/tokens`);
  expect((await company.check(external, { group: { model: "large" } })).body.data.used).toBe("12");
});

test("the nightly comparison tells of a total that is not that of the events", async () => {
  const { external } = await company.entitle(MONTHLY);
  await company.send(external, { usage: 4 });
  expect((await company.check(external)).body.data.used).toBe("4");
  const { deps } = limits.service;
  const failures: unknown[] = [];
  const { runJob } = await import("../../../src/server/scheduler.ts");
  const { JOBS } = await import("../../../src/server/jobs.ts");
  const job = JOBS.find(({ name }) => name === "limits_check");
  if (!job) throw new Error("There is no such job");
  const usage = Object.create(deps.usage);
  usage.measure = async (...asked: Parameters<typeof deps.usage.measure>) =>
    (await deps.usage.measure(...asked)).map((parts) => parts.map((part) => ({ ...part, quantity: "5" })));
  const lying = {
    ...deps,
    openContext: (caller: Parameters<typeof deps.openContext>[0]) => ({ ...deps.openContext(caller), usage }),
  };
  await runJob(lying, job, (_, error) => failures.push(error));
  expect(failures.map(String)).toEqual([expect.stringContaining("are not those of the stored events")]);
});
