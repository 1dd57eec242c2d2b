import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// What simulations count by stays as it is while it is needed.

const billing = useBilling();

async function start() {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany();
  const { api } = company;
  const { id: meter_id } = (
    await api("POST", "/meters", { code: "units", name: "Units", aggregation: "sum" })
  ).body.data;
  const subscription = await company.subscribe(FLAT);
  await company.use(subscription, ["2026-01-05T00:00:00Z", "100"]);
  billing.clock.set("2026-02-01T02:00:00Z");
  await company.run();
  const charge = { code: "units", name: "Units", meter_id, type: "per_unit", price: "1" };
  const simulate = async (body: Json): Promise<number> => {
    const answer = await api("POST", "/simulations", { ...body, from: "2026-01", to: "2026-01" });
    expect([answer.status, answer.body.error]).toEqual([202, undefined]);
    return answer.body.data.id;
  };
  const finish = async (id: number) => {
    await runNamedJob(billing.service, "simulations");
    const found = (await api("GET", `/simulations/${id}`)).body.data;
    expect(found.status).toBe("finished");
    return found;
  };
  const change = async (aggregation = "count") => {
    const { status, body } = await api("PUT", `/meters/${meter_id}`, { name: "Units", aggregation });
    return [status, body.error];
  };
  const remove = async () => {
    const { status, body } = await api("DELETE", `/meters/${meter_id}`);
    return [status, body.error];
  };
  return { company, api, meter_id, charge, simulate, finish, change, remove };
}

const draft = (more: Json) => ({ name: "Draft", description: "", currency: "EUR", ...PER_UNIT, ...more });

test.each(["charges", "meter_id"])(
  "a meter that only a draft names in %s stays while its simulation goes on, and what it came to stays after it",
  async (field) => {
    const { api, meter_id, charge, simulate, finish, change, remove } = await start();
    const named = field === "charges" ? { charges: [charge] } : { meter_id };
    const id = await simulate({ billing_model: draft(named) });
    const going_on = `simulation ${id} goes on and`;
    expect(await change()).toEqual([
      409,
      `Cannot change what meter ${meter_id} counts: ${going_on} counts by it. Wait for it, or delete it`,
    ]);
    expect(await remove()).toEqual([
      409,
      `Cannot delete meter ${meter_id}: ${going_on} names it; wait for it, or delete it`,
    ]);
    // A name is no part of what is counted.
    expect((await api("PUT", `/meters/${meter_id}`, { name: "Renamed" })).status).toBe(200);
    const found = await finish(id);
    expect(found.reproduces).toBe(true);
    expect(await change()).toEqual([200, undefined]);
    expect((await remove())[0]).toBeLessThan(300);
    expect((await api("GET", `/simulations/${id}`)).body.data).toEqual(found);
  },
);

test("a deleted simulation holds no meter, nor does one by another meter", async () => {
  const { api, simulate, charge, change, remove } = await start();
  const other = (await api("POST", "/meters", { code: "other", name: "Other", aggregation: "count" })).body
    .data;
  await simulate({ billing_model: draft({ charges: [{ ...charge, meter_id: other.id }] }) });
  const id = await simulate({ billing_model: draft({ charges: [charge] }) });
  expect((await change())[0]).toBe(409);
  await api("DELETE", `/simulations/${id}`);
  expect(await change()).toEqual([200, undefined]);
  expect((await remove())[0]).toBeLessThan(300);
});

test("a cost model's meter is frozen by the simulation that margins are read from, until that is deleted", async () => {
  const { company, api, meter_id, charge, simulate, finish, change } = await start();
  const cost = await company.addModel({
    billing_type_id: 1,
    price: 2,
    purpose: "cost",
    charges: [charge],
  });
  const price = await company.addModel({ ...PER_UNIT, charges: [charge] });
  // A price that nobody has is only tried.
  await finish(await simulate({ billing_model_id: price }));
  expect(await change()).toEqual([200, undefined]);
  const id = await simulate({ billing_model_id: cost });
  expect(await change("sum")).toEqual([
    409,
    `Cannot change what meter ${meter_id} counts: simulation ${id} goes on and counts by it. Wait for it, or delete it`,
  ]);
  await finish(id);
  const margins = () => api("GET", `/revenue/margins?cost_model_id=${cost}&from=2026-01&to=2026-01`);
  const before = await margins();
  expect(before.status).toBe(200);
  expect(await change("sum")).toEqual([
    409,
    `Cannot change what meter ${meter_id} counts: simulation ${id} of a cost model counted by it. Create a new meter, or delete the simulation`,
  ]);
  expect((await api("PUT", `/meters/${meter_id}`, { name: "Renamed" })).status).toBe(200);
  expect((await margins()).body.data).toEqual(before.body.data);
  await api("DELETE", `/simulations/${id}`);
  expect(await change("sum")).toEqual([200, undefined]);
});
