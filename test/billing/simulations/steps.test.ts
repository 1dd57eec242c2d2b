import { afterEach, expect, spyOn, test } from "bun:test";
import { LIMITS } from "../../../src/billing/limits.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { PER_UNIT, useBilling } from "../fixtures.ts";

// Steps of a simulation.

const billing = useBilling();
const { simulation_subscriptions } = LIMITS;

afterEach(() => {
  Object.assign(LIMITS, { simulation_subscriptions });
});

/** A company that billed January to so many subscriptions of ten units each. */
async function bill(subscriptions: number) {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const plan = await company.addModel(PER_UNIT);
  for (let i = 0; i < subscriptions; i++) {
    const id = await company.subscribe(plan);
    await company.use(id, ["2026-01-05T00:00:00Z", "10"]);
  }
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  return company;
}

const MONTH = { from: "2026-01", to: "2026-01" };

test("a simulation is of its model as it was at creation, whatever becomes of that between its steps", async () => {
  const company = await bill(3);
  const { api } = company;
  const tried = await company.addModel({ ...PER_UNIT, price: 1 });
  const { id } = (await api("POST", "/simulations", { ...MONTH, billing_model_id: tried })).body.data;
  Object.assign(LIMITS, { simulation_subscriptions: 1 });
  const { usage } = billing.service.deps;
  const totals = usage.totals.bind(usage);
  const statuses: number[] = [];
  const asked = spyOn(usage, "totals").mockImplementation(async (...question) => {
    const path = `/billing-models/${tried}`;
    const edit = { name: "Dearer", description: "", price: 5 };
    if (statuses.length === 0) statuses.push((await api("PUT", path, edit)).status);
    else if (statuses.length === 1) statuses.push((await api("DELETE", path)).status);
    return totals(...question);
  });
  await runNamedJob(billing.service, "simulations");
  asked.mockRestore();
  expect(statuses).toEqual([200, 200]);
  const found = (await api("GET", `/simulations/${id}`)).body.data;
  expect(found).toMatchObject({
    status: "finished",
    billing_model_id: tried,
    billing_model: null,
    reproduces: true,
    totals: { billed: "15.00", simulated: "30.00", difference: "15.00" },
  });
});

test("a step that is too large twice is halved until it fits, and those after it are as small at once", async () => {
  const { api } = await bill(5);
  const billing_model = { name: "Draft", description: "", currency: "EUR", ...PER_UNIT, price: 1 };
  const { id } = (await api("POST", "/simulations", { ...MONTH, billing_model })).body.data;
  Object.assign(LIMITS, { simulation_subscriptions: 8 });
  const { usage } = billing.service.deps;
  const totals = usage.totals.bind(usage);
  const sizes: number[] = [];
  const asked = spyOn(usage, "totals").mockImplementation(async (company_id, windows, options) => {
    const size = new Set(windows.map(({ subscription_id }) => subscription_id)).size;
    sizes.push(size);
    if (size > 2) throw new Error("took too long");
    return totals(company_id, windows, options);
  });
  const find = async (): Promise<Json> => (await api("GET", `/simulations/${id}`)).body.data;
  // Each failure leaves the rest to the job's next turn.
  for (let turn = 0; turn < 6 && (await find()).status === "running"; turn++)
    await runNamedJob(billing.service, "simulations");
  asked.mockRestore();
  expect(sizes).toEqual([5, 5, 4, 2, 2, 1]);
  expect(await find()).toMatchObject({
    status: "finished",
    progress: { subscriptions: 5, done: 5 },
    counts: { subscriptions: 5, periods: 5, failed: 0 },
    totals: { billed: "25.00", simulated: "50.00", difference: "25.00" },
  });
});

test("failures now and then end no simulation and leave its steps as they are; eight of one step do", async () => {
  const steps = LIMITS.simulation_attempts + 1;
  const { api } = await bill(2 * steps);
  const billing_model = { name: "Draft", description: "", currency: "EUR", ...PER_UNIT, price: 1 };
  const { id } = (await api("POST", "/simulations", { ...MONTH, billing_model })).body.data;
  const find = async (): Promise<Json> => (await api("GET", `/simulations/${id}`)).body.data;
  Object.assign(LIMITS, { simulation_subscriptions: 2 });
  const { usage } = billing.service.deps;
  const totals = usage.totals.bind(usage);
  const sizes: number[] = [];
  let fails = false;
  const asked = spyOn(usage, "totals").mockImplementation(async (company_id, windows, options) => {
    sizes.push(new Set(windows.map(({ subscription_id }) => subscription_id)).size);
    fails = !fails;
    if (fails) throw new Error("busy");
    return totals(company_id, windows, options);
  });
  // Every step fails once: more failures in all than one step may have.
  for (let turn = 0; turn <= steps && (await find()).status === "running"; turn++)
    await runNamedJob(billing.service, "simulations");
  const found = await find();
  expect(found).toMatchObject({ status: "finished", error: null, counts: { subscriptions: 2 * steps } });
  expect(sizes).toEqual(Array.from({ length: 2 * steps }, () => 2));
  // A step that always fails ends its simulation.
  asked.mockRejectedValue(new Error("busy"));
  const other = (await api("POST", "/simulations", { ...MONTH, billing_model })).body.data.id;
  const statuses: string[] = [];
  for (let turn = 0; turn < LIMITS.simulation_attempts; turn++) {
    await runNamedJob(billing.service, "simulations");
    statuses.push((await api("GET", `/simulations/${other}`)).body.data.status);
  }
  asked.mockRestore();
  expect([statuses.filter((status) => status === "running").length, statuses.at(-1)]).toEqual([7, "failed"]);
});
