import { beforeAll, describe, expect, test } from "bun:test";
import { JOBS } from "../../src/server/jobs.ts";
import { runJob, startJobs } from "../../src/server/scheduler.ts";
import { create } from "../billing/subscriptions/fixtures.ts";
import { type Json, startService, TestClock, useService } from "../support/harness.ts";
import { pass } from "../support/time.ts";

// The sandbox drives a mandate from its creation to a payment that is charged back and a mandate that is suspended,
// without a hand on it: after POST authorize nothing is called here that changes anything.

/** A Tuesday morning in Kuala Lumpur. */
const START = "2026-03-10T02:00:00Z";

const clock = new TestClock(START);

const service = useService({ clock });

beforeAll(async () => {
  await create(service.api, "/emandate/products", {
    product_code: "GYM",
    product_name: "Gym",
    max_amount: "150.00",
    frequency: "Monthly",
  });
});

/** Lets time go by to an instant, and all that time starts run there, and the seconds after it. */
async function passTo(instant: string): Promise<void> {
  clock.set(instant);
  // Tokens live for a day.
  service.api = await service.signIn(service.admin_email);
  for (const job of JOBS) await runJob(service.deps, job);
  await pass(service, clock, [2, 2, 2]);
}

async function authorized(first_name: string): Promise<number> {
  const { id } = await create(service.api, "/emandate/mandates", {
    customer_name: `${first_name} Customer`,
    customer_email: `${first_name}@example.com`,
    emandate_product_id: 1,
    bankscheme_txn_amount: "89.90",
  });
  expect((await service.api("POST", `/emandate/mandates/${id}/authorize`, {})).status).toBe(200);
  return id;
}

const read = async (id: number): Promise<Json> =>
  (await service.api("GET", `/emandate/mandates/${id}`)).body.data;

/** What the outbox told of a mandate and its payments, in order. */
async function eventTypes(mandate_id: number): Promise<string[]> {
  const { body } = await service.api("GET", "/events?limit=200&type=emandate.*");
  return body.data
    .toReversed()
    .filter(({ type, data }: Json) => (type.includes("payment") ? data.mandate_id : data.id) === mandate_id)
    .map(({ type }: Json) => type.replace("emandate.", ""));
}

const ACTIVE = [
  "mandate.created",
  "mandate.pending_authorization",
  "mandate.authorized",
  "mandate.activated",
];
const PAID = ["payment.scheduled", "payment.submitted", "payment.paid"];
const NO_FUNDS = ["payment.submitted", "payment.retry_scheduled"];
const names = ["Successful", "Fickle", "Late", "Penniless", "Invalid", "Waiting"] as const;

describe("the sandbox goes on by itself", () => {
  const ids: Record<string, number> = {};
  const stands = async () =>
    Object.fromEntries(
      await Promise.all(
        names.map(async (name) => {
          const { status, payments } = await read(ids[name] ?? 0);
          return [name, [status, ...payments.map((payment: Json) => payment.status)]];
        }),
      ),
    );

  test("each step is answered within five seconds", async () => {
    for (const name of names) ids[name] = await authorized(name);
    await pass(service, clock, [1, 1, 1, 1, 1]);
    expect((await read(ids.Invalid ?? 0)).status).toBe("failed");
    expect((await read(ids.Successful ?? 0)).status).not.toBe("pending_authorization");
    await pass(service, clock, [1, 1, 1, 1, 1]);
    expect(await stands()).toEqual({
      Successful: ["active"],
      Fickle: ["active"],
      Late: ["active"],
      Penniless: ["active"],
      Invalid: ["failed"],
      Waiting: ["pending_authorization"],
    });
  });

  test("nothing is collected before two working days have passed, then everyone is debited", async () => {
    await passTo("2026-03-11T15:30:00Z");
    expect((await stands()).Successful).toEqual(["active"]);
    await passTo("2026-03-11T16:00:05Z");
    expect(await stands()).toEqual({
      Successful: ["active", "paid"],
      Fickle: ["suspended", "charged_back"],
      Late: ["suspended", "failed"],
      Penniless: ["active", "retry_scheduled"],
      Invalid: ["failed"],
      // Nobody authorized it within a day.
      Waiting: ["failed"],
    });
  });

  test("a customer without money is asked again on three working days, then the mandate is suspended", async () => {
    const counted: [string, number][] = [];
    for (const day of ["12", "13", "14", "15", "16", "17", "18"]) {
      await passTo(`2026-03-${day}T01:00:05Z`);
      const [payment] = (await read(ids.Penniless ?? 0)).payments;
      counted.push([day, payment.attempt_count]);
    }
    expect(counted).toEqual([
      ["12", 1],
      ["13", 2],
      ["14", 2],
      ["15", 2],
      ["16", 3],
      ["17", 4],
      ["18", 4],
    ]);
    expect((await stands()).Penniless).toEqual(["suspended", "failed"]);
  });

  test("in the next month only who pays is debited", async () => {
    await passTo("2026-04-12T01:00:05Z");
    expect(await stands()).toMatchObject({
      Successful: ["active", "paid", "paid"],
      Fickle: ["suspended", "charged_back"],
      Late: ["suspended", "failed"],
      Penniless: ["suspended", "failed"],
    });
  });

  test("every step has its domain event", async () => {
    const stories = Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await eventTypes(ids[name] ?? 0)])),
    );
    expect(stories).toEqual({
      Successful: [...ACTIVE, ...PAID, ...PAID],
      Fickle: [...ACTIVE, ...PAID, "payment.charged_back", "mandate.suspended"],
      Late: [...ACTIVE, ...PAID, "payment.failed", "mandate.suspended"],
      Penniless: [
        ...ACTIVE,
        "payment.scheduled",
        ...NO_FUNDS,
        ...NO_FUNDS,
        ...NO_FUNDS,
        "payment.submitted",
        "payment.failed",
        "mandate.suspended",
      ],
      Invalid: ["mandate.created", "mandate.pending_authorization", "mandate.failed"],
      Waiting: ["mandate.created", "mandate.pending_authorization", "mandate.failed"],
    });
  });
});

/** Five seconds are promised for each step, and held above; a machine may be busy with other things. */
const PATIENCE_MS = 15_000;

test("on a server that runs, a debit is charged back and its mandate suspended in seconds", async () => {
  const running = await startService();
  const stopJobs = startJobs(running.deps);
  try {
    const { api } = running;
    const until = async (path: string, status: string): Promise<Json> => {
      const given_up_at = performance.now() + PATIENCE_MS;
      for (;;) {
        const { data } = (await api("GET", path)).body;
        if (data.status === status) return data;
        if (performance.now() > given_up_at) throw new Error(`${path} is ${data.status}, not ${status}`);
        await Bun.sleep(50);
      }
    };
    const customer = { customer_name: "Fickle Farid", customer_email: "farid@example.com" };
    const { id } = await create(api, "/emandate/mandates", customer);
    expect((await api("POST", `/emandate/mandates/${id}/authorize`, {})).status).toBe(200);
    await until(`/emandate/mandates/${id}`, "pending_approval");
    await until(`/emandate/mandates/${id}`, "active");
    const payment = await create(api, `/emandate/mandates/${id}/payments`, { amount: "10.00" });
    await until(`/emandate/payments/${payment.id}`, "paid");
    await until(`/emandate/payments/${payment.id}`, "charged_back");
    const { status_reason } = await until(`/emandate/mandates/${id}`, "suspended");
    expect(status_reason).toBe("A payment failed for good");
  } finally {
    await stopJobs();
    await running.stop();
  }
});
