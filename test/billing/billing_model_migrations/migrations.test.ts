import { describe, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { changesOf, changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const NOW = "2024-03-20T12:00:00.000Z";
const JANUARY = { started_at: "2024-01-01T00:00:00Z" };

const said = ({ status, body }: { status: number; body: Json }) => [
  status,
  ...(body.details ?? [{ message: body.error }]).map(({ path, message }: Json) =>
    path === undefined ? message : `${path} ${message}`,
  ),
];

/** A company with two models, and subscriptions on the first. */
async function addPlans(
  options: Json[],
): Promise<{ company: Company; from: number; to: number; ids: number[] }> {
  billing.clock.set(NOW);
  const company = await billing.addCompany();
  const from = await company.addModel({ ...FLAT, name: "Old" });
  const to = await company.addModel({ ...FLAT, name: "New", price: 62 });
  const ids: number[] = [];
  for (const given of options) ids.push(await company.subscribe(from, { ...JANUARY, ...given }));
  return { company, from, to, ids };
}

const bodyOf = (from: number, to: number, at: string, more: Json = {}) => ({
  from_billing_model_id: from,
  to_billing_model_id: to,
  at,
  ...more,
});

const moveOn = () => runNamedJob(billing.service, "billing_model_migrations");

/** What a subscription's changes are. */
const shown = async ({ api }: Company, id: number) =>
  (await changesOf(api, id)).map(
    ({ new_billing_model_id, status, effective_at }) => `${new_billing_model_id} ${status} ${effective_at}`,
  );

describe("a migration at the next period", () => {
  test("schedules one change for each, at the end of its own period; what can't be moved is told", async () => {
    const { company, from, to, ids } = await addPlans([
      {},
      { billing_anchor_day: 25 },
      {},
      {},
      { started_at: "2024-05-10T00:00:00Z" },
    ]);
    const { api } = company;
    const [one = 0, anchored = 0, ending = 0, elsewhere = 0, future = 0] = ids;
    const other = await company.addModel({ ...FLAT, name: "Another" });
    await api("POST", `/subscriptions/${ending}/cancel`, { at: "period_end" });
    await changeTo(api, elsewhere, other, "2024-03-25T00:00:00Z");
    const untouched = await company.subscribe(other, JANUARY);

    const tried = await api(
      "POST",
      "/billing-model-migrations",
      bodyOf(from, to, "next_period", { dry_run: true }),
    );
    expect(tried.status).toBe(200);
    const errors = [
      {
        subscription_id: ending,
        message: "effective_at must be before the subscription's end, 2024-04-01T00:00:00.000Z",
      },
      {
        subscription_id: elsewhere,
        message: `from_billing_model_id is not the subscription's at 2024-04-01T00:00:00.000Z: it is on billing model ${other}`,
      },
    ];
    const counts = { subscriptions: 5, changed: 3, failed: 2 };
    expect(tried.body.data).toMatchObject({ dry_run: true, status: "finished", counts, errors });
    expect(tried.body.data.id).toBeUndefined();
    expect((await api("GET", "/billing-model-migrations")).body.data).toEqual([]);
    expect(await shown(company, one)).toEqual([]);

    const begun = await api("POST", "/billing-model-migrations", bodyOf(from, to, "next_period"));
    expect(begun.status).toBe(202);
    const { id } = begun.body.data;
    expect(begun.body.data).toMatchObject({
      status: "running",
      counts: { ...counts, changed: 0, failed: 0 },
    });
    // Who comes to the model afterwards was not asked for.
    const later = await company.subscribe(from, JANUARY);
    await moveOn();
    const { data } = (await api("GET", `/billing-model-migrations/${id}`)).body;
    expect(data).toMatchObject({ status: "finished", finished_at: NOW, counts, errors });
    expect((await api("GET", "/billing-model-migrations")).body.data.map((row: Json) => row.id)).toEqual([
      id,
    ]);
    expect(await shown(company, one)).toEqual([`${to} scheduled 2024-04-01T00:00:00.000Z`]);
    expect(await shown(company, anchored)).toEqual([`${to} scheduled 2024-03-25T00:00:00.000Z`]);
    expect(await shown(company, elsewhere)).toEqual([`${other} scheduled 2024-03-25T00:00:00.000Z`]);
    for (const none of [ending, untouched, later]) expect(await shown(company, none)).toEqual([]);

    const [change] = await changesOf(api, one);
    const me = (await api("GET", "/me")).body.data;
    expect(change?.requested_by).toBe(me.id);
    const [event] = (await api("GET", "/events?type=migration.finished")).body.data;
    expect(event.data).toEqual({
      id,
      status: "finished",
      from_billing_model_id: from,
      to_billing_model_id: to,
      changed: 3,
      failed: 2,
    });
    const audited = await api("GET", `/audit-log?target_type=billing_model_change&target_id=${change?.id}`);
    expect(audited.body.data.map(({ operation }: Json) => operation)).toEqual([
      "create_billing_model_change",
    ]);

    // A new time zone moves what waits for the end of a later period, as it moves cancellations.
    await api("PUT", "/company", { name: "A", timezone: "Asia/Kuala_Lumpur", currency: "EUR" });
    expect(await shown(company, future)).toEqual([`${to} scheduled 2024-05-31T16:00:00.000Z`]);
  });
});

test("a migration in the past adjusts closed periods, of those that are named alone, and twice changes nothing", async () => {
  const { company, from, to, ids } = await addPlans([{}, {}]);
  const { api } = company;
  const [one = 0, two = 0] = ids;
  await company.run();
  const body = bodyOf(from, to, "2024-02-15T00:00:00Z", { subscription_ids: [one] });
  const key = { "idempotency-key": crypto.randomUUID() };
  const answers = [
    await api("POST", "/billing-model-migrations", body, key),
    await api("POST", "/billing-model-migrations", body, key),
  ];
  expect(answers.map((answer) => answer.body.data.id)).toEqual(Array(2).fill(answers[0]?.body.data.id));
  await Promise.all([moveOn(), moveOn()]);
  expect(await shown(company, one)).toEqual([`${to} applied 2024-02-15T00:00:00.000Z`]);
  expect(await shown(company, two)).toEqual([]);
  const [change] = await changesOf(api, one);
  expect(change?.adjustment_billing_record_ids).toHaveLength(1);

  await api("POST", "/billing-model-migrations", body);
  await moveOn();
  const [again] = (await api("GET", "/billing-model-migrations")).body.data;
  expect(again.counts).toEqual({ subscriptions: 1, changed: 0, failed: 1 });
  const { errors } = (await api("GET", `/billing-model-migrations/${again.id}`)).body.data;
  expect(errors[0].message).toContain("is a duplicate schedule");
  expect(await shown(company, one)).toHaveLength(1);
});

test("a migration is refused to models that don't fit, and to others", async () => {
  const { company, from, to, ids } = await addPlans([{}]);
  const { api } = company;
  const other = await addPlans([{}]);
  const usd = await company.addModel({ ...FLAT, currency: "USD" });
  const attempt = async (body: Json) => said(await api("POST", "/billing-model-migrations", body));
  const next = "next_period";
  const cost = await company.addModel({ ...FLAT, purpose: "cost" });
  expect(await attempt(bodyOf(from, cost, next))).toEqual([
    422,
    "/to_billing_model_id names a billing model of purpose cost, which no subscription may take",
  ]);
  expect(await attempt(bodyOf(from, from, next))).toEqual([
    422,
    "/to_billing_model_id must be another than from_billing_model_id",
  ]);
  expect(await attempt(bodyOf(from, usd, next))).toEqual([
    422,
    "/to_billing_model_id must be in the currency of the other, EUR",
  ]);
  expect(await attempt(bodyOf(other.from, to, next))).toEqual([
    422,
    "/from_billing_model_id names no active billing model of this company",
  ]);
  expect(await attempt(bodyOf(from, other.to, next))).toEqual([
    422,
    "/to_billing_model_id names no active billing model of this company",
  ]);
  expect(await attempt(bodyOf(from, to, next, { subscription_ids: [...ids, ...other.ids] }))).toEqual([
    422,
    "/subscription_ids/1 names no subscription of this company",
  ]);
  expect((await attempt(bodyOf(from, to, "soon")))[0]).toBe(422);
  expect(await attempt(bodyOf(from, to, "2124-03-21T00:00:00Z"))).toEqual([
    422,
    "/at must be at most 100 years from now",
  ]);

  // A model that was made for another client is refused for each subscription.
  const for_another = await company.addModel({ ...FLAT, for_client_id: await company.addClient() });
  const tried = await api(
    "POST",
    "/billing-model-migrations",
    bodyOf(from, for_another, next, { dry_run: true }),
  );
  expect(tried.body.data.errors[0].message).toContain("was made for another client");

  const { id } = (await api("POST", "/billing-model-migrations", bodyOf(from, to, next))).body.data;
  expect((await other.company.api("GET", `/billing-model-migrations/${id}`)).status).toBe(404);
  expect((await other.company.api("GET", "/billing-model-migrations")).body.data).toEqual([]);
  const analyst = await company.addUser("analyst");
  expect((await analyst("POST", "/billing-model-migrations", bodyOf(from, to, next))).status).toBe(403);
  expect((await analyst("GET", `/billing-model-migrations/${id}`)).status).toBe(200);
  const client = await company.addUser("client", company.client_id);
  expect((await client("GET", `/billing-model-migrations/${id}`)).status).toBe(403);
});
