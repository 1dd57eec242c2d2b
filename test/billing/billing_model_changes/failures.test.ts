import { beforeAll, expect, test } from "bun:test";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";
import { changesOf, changeTo, eventsOf, makeDue, applyDueChanges } from "./fixtures.ts";

const billing = useBilling();
let company: Company;

beforeAll(async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  company = await billing.addCompany();
});

/** Does something while the usage store can't be asked for what bills need. */
async function withoutUsage<T>(work: () => Promise<T>): Promise<T> {
  const { usage } = billing.service.deps;
  const totals = usage.totals.bind(usage);
  usage.totals = () => Promise.reject(new Error("disk gone"));
  try {
    return await work();
  } finally {
    usage.totals = totals;
  }
}

test("a change that fails stays scheduled with its error, keeps later ones waiting, and is tried again", async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  const id = await company.subscribe(PER_UNIT, { started_at: "2024-03-01T00:00:00Z" });
  const [a, b] = [await company.addModel(FLAT), await company.addModel(FLAT)];
  const first_model = (await company.api("GET", `/subscriptions/${id}`)).body.data.billing_model_id;
  const to_a = await changeTo(company.api, id, a, "2024-04-25T00:00:00Z");
  const to_b = await changeTo(company.api, id, b, "2024-04-26T00:00:00Z");
  // March is closed before its change is applied: the change has something to rate.
  billing.clock.set("2024-04-01T01:00:00Z");
  await company.run({ subscription_ids: [id] });
  await makeDue(billing.service, to_a.body.data.id, "2024-03-25T00:00:00.000Z");
  await makeDue(billing.service, to_b.body.data.id, "2024-04-01T00:30:00.000Z");

  const attempt = async (time: string) => {
    billing.clock.set(time);
    await withoutUsage(() => applyDueChanges(billing.service));
    const [first, second] = await changesOf(company.api, id);
    expect([first.status, second.status]).toEqual(["scheduled", "scheduled"]);
    return [first.attempts, first.last_error, second.attempts];
  };
  expect(await attempt("2024-04-01T01:00:00Z")).toEqual([1, "Internal error", 0]);
  expect(await attempt("2024-04-01T01:00:01Z")).toEqual([1, "Internal error", 0]);
  expect(await attempt("2024-04-01T01:00:02Z")).toEqual([2, "Internal error", 0]);
  expect(await attempt("2024-04-01T01:00:05Z")).toEqual([2, "Internal error", 0]);
  expect((await company.api("GET", `/subscriptions/${id}`)).body.data.billing_model_id).toBe(first_model);

  // A new change can't go before those that are due.
  const refused = await withoutUsage(() => changeTo(company.api, id, a, "2024-04-01T01:00:05Z"));
  expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining("due before")]);
  expect(await changesOf(company.api, id)).toHaveLength(2);

  billing.clock.set("2024-04-01T01:00:30Z");
  await applyDueChanges(billing.service);
  const changes = await changesOf(company.api, id);
  expect(changes).toMatchObject([
    { status: "applied", last_error: null, attempts: 3, old_billing_model_id: first_model },
    { status: "applied", last_error: null, attempts: 0, old_billing_model_id: a },
  ]);
  expect(changes[0].adjustment_billing_record_ids).toHaveLength(1);
  expect((await eventsOf(billing.service, company, id)).slice(2)).toEqual([
    "billing_model_change.applied",
    "billing_model_change.applied",
  ]);
});

test("a change that fails holds up no other subscription, and can be cancelled", async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  const model = await company.addModel(FLAT);
  const [stuck, free] = [await company.subscribe(FLAT), await company.subscribe(FLAT)];
  for (const id of [stuck, free]) await changeTo(company.api, id, model, "2024-04-25T00:00:00Z");
  billing.clock.set("2024-04-01T01:00:00Z");
  await company.run({ subscription_ids: [stuck] });
  for (const id of [stuck, free]) {
    const [{ id: change_id }] = await changesOf(company.api, id);
    await makeDue(billing.service, change_id, "2024-03-25T00:00:00.000Z");
  }
  await withoutUsage(() => applyDueChanges(billing.service));
  const [[of_stuck], [of_free]] = [await changesOf(company.api, stuck), await changesOf(company.api, free)];
  expect([of_stuck.status, of_free.status]).toEqual(["scheduled", "applied"]);
  const path = `/subscriptions/${stuck}/billing-model-changes/${of_stuck.id}`;
  expect((await company.api("DELETE", path)).status).toBe(200);
});

test("a change in the past that can't be rated changes nothing", async () => {
  billing.clock.set("2024-04-02T00:00:00Z");
  const id = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
  const before = (await company.api("GET", `/subscriptions/${id}`)).body;
  await company.run({ subscription_ids: [id] });
  const model = await company.addModel(FLAT);
  const { status } = await withoutUsage(() => changeTo(company.api, id, model, "2024-03-10T00:00:00Z"));
  expect(status).toBe(500);
  expect(await changesOf(company.api, id)).toEqual([]);
  expect((await company.api("GET", `/subscriptions/${id}`)).body).toEqual(before);
  expect(await company.records(id)).toHaveLength(1);
});

test("records of a call with a later clock are adjusted all the same", async () => {
  billing.clock.set("2024-04-03T00:00:00Z");
  const id = await company.subscribe({ ...PER_UNIT, price: 1 }, { started_at: "2024-03-01T00:00:00Z" });
  await company.use(id, ["2024-03-20T00:00:00Z", "5"]);
  await company.run({ subscription_ids: [id] });
  billing.clock.set("2024-04-02T23:59:59Z");
  const dearer = await company.addModel({ ...PER_UNIT, price: 3 });
  const { body } = await changeTo(company.api, id, dearer, "2024-03-10T00:00:00Z");
  expect(body.data.adjustment_billing_record_ids).toHaveLength(1);
  const [period, adjustment] = await company.records(id);
  expect([period.totalCharges, adjustment.totalCharges]).toEqual(["5.00", "10.00"]);
  expect(adjustment.usage_until).toBe(period.usage_until);
});
