import { beforeAll, expect, test } from "bun:test";
import { MAX_GROUPS } from "../../../src/usage_store/running/window_totals.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

const limits = useLimits();
let company: LimitedCompany;

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});

test("totals of every limit are kept from a start on, and of none that was taken away", async () => {
  const { external, id } = await company.entitle(MONTHLY, { ...MONTHLY, window: "day", per: "model" });
  const heard: string[] = [];
  const stops = limits.service.instances.map(({ usage }) =>
    usage.running_totals.listen((event) => heard.push(event.id)),
  );
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
  for (const stop of stops) stop();
  await company.api("DELETE", `/subscriptions/${id}/entitlements/tokens`);
  expect((await company.check(external, { group: { model: "large" } })).body.data.used).toBe("12");
});

test("the nightly comparison tells of a total that is not that of the events", async () => {
  const { external } = await company.entitle(MONTHLY);
  await company.send(external, { usage: 4 });
  expect((await company.check(external)).body.data.used).toBe("4");
  const failures: unknown[] = [];
  const { runJob } = await import("../../../src/server/scheduler.ts");
  const { JOBS } = await import("../../../src/server/jobs.ts");
  const job = JOBS.find(({ name }) => name === "limits_check");
  if (!job) throw new Error("There is no such job");
  // The instance that keeps the total asks its own store.
  for (const deps of limits.service.instances) {
    const usage = Object.create(deps.usage);
    usage.measure = async (...asked: Parameters<typeof deps.usage.measure>) =>
      (await deps.usage.measure(...asked)).map((parts) => parts.map((part) => ({ ...part, quantity: "5" })));
    const lying = {
      ...deps,
      openContext: (caller: Parameters<typeof deps.openContext>[0]) => ({
        ...deps.openContext(caller),
        usage,
      }),
    };
    await runJob(lying, job, (_, error) => failures.push(error));
  }
  expect(failures.map(String)).toEqual([expect.stringContaining("are not those of the stored events")]);
});

test("a clock that was ahead, and is set back, finds its windows again", async () => {
  const { external } = await company.entitle(MONTHLY, { ...MONTHLY, window: "day" });
  await company.send(external, { usage: 4 });
  limits.clock.set("2026-05-10T12:00:00Z");
  expect((await company.check(external)).body.data).toMatchObject({ used: "0", certain: true });
  // Forgets the windows that seem to be past.
  await runNamedJob(limits.service, "limits_check");
  limits.clock.set("2026-03-10T12:00:00Z");
  expect((await company.check(external)).body.data).toMatchObject({
    allowed: true,
    used: "4",
    certain: true,
  });
  await company.send(external, { usage: 3 });
  expect((await company.check(external)).body.data).toMatchObject({ used: "7", certain: true });
});

test("of more groups than are counted those that came too late are not certain, and the others exact", async () => {
  const { external, id } = await company.entitle({ ...MONTHLY, per: "model" });
  const groups = Array.from({ length: MAX_GROUPS + 2 }, (_, i) => `m${String(i).padStart(5, "0")}`);
  const at = "2026-03-10T11:00:00Z";
  await company.use(id, ...groups.map((model): [string, string, object] => [at, "1", { model }]));
  const check = async (model: string | undefined) => {
    const { allowed, used, certain } = (await company.check(external, { group: { model } })).body.data;
    return { allowed, used, certain };
  };
  expect(await check(groups[0])).toEqual({ allowed: true, used: "1", certain: true });
  expect(await check(groups.at(-1))).toEqual({ allowed: false, used: "0", certain: false });
  await company.send(external, { usage: 4, metadata: { model: groups[0] } });
  await company.send(external, { usage: 4, metadata: { model: "new" } });
  expect(await check(groups[0])).toEqual({ allowed: true, used: "5", certain: true });
  expect(await check("new")).toEqual({ allowed: false, used: "0", certain: false });
  expect(await runNamedJob(limits.service, "limits_check")).toBe(true);
});
