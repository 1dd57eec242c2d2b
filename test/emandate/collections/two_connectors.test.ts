import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { dayAt } from "../../../src/emandate/working_days.ts";
import { insertRun } from "../../../src/emandate/collections/queries.ts";
import { collectionRunTable } from "../../../src/emandate/collections/tables.ts";
import { findConfig, saveConfig } from "../../../src/emandate/merchant_config/queries.ts";
import { emandateBankListTable } from "../../../src/emandate/merchant_config/tables.ts";
import { mandatePaymentTable } from "../../../src/emandate/payments/tables.ts";
import { requireMandate } from "../../../src/emandate/mandates/queries.ts";
import { mandateTable } from "../../../src/emandate/mandates/tables.ts";
import { type Service, type Json, startService, type Tenant, TestClock } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { addMandate, getPayment, paymentsOf } from "../payments/fixtures.ts";
import { openStandIn, type StandIn } from "../scheme/fake_fpx.ts";

// A company that went from the sandbox to FPX, or back: what belongs to a connector goes by the mandate's.

// The scheme's certificate is of today.
const start = Temporal.Now.instant().add({ minutes: 1 }).round("millisecond");
const clock = new TestClock(start.toString());
let scheme: StandIn;
let service: Service;

beforeAll(async () => {
  scheme = openStandIn();
  const env = { SECRETS_KEY: randomBytes(32).toString("hex"), FPX_URL: scheme.url };
  service = await startService({ clock, env: { ...env, NODE_ENV: "test" } });
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
});

let sellers = 0;

const today = () => dayAt(clock.now());

/** A company with the keys for FPX, which works with it or with the sandbox. */
async function merchant(connector: "fpx" | "sandbox" = "fpx"): Promise<Tenant> {
  clock.set(start.toString());
  const tenant = await service.addTenant();
  sellers += 1;
  const keys = {
    exchange_id: "EX00000001",
    seller_id: `SE${sellers}`,
    private_key_pem: scheme.seller_key_pem,
    scheme_certificate_pem: scheme.scheme.certificate_pem,
  };
  expect((await tenant.api("PUT", "/emandate/config", { ...keys, connector })).status).toBe(200);
  return tenant;
}

/** A mandate that is due today, of a connector. */
const dueOf = (tenant: Tenant, connector: "fpx" | "sandbox", over: object = {}) =>
  addMandate(service.deps, tenant, today().toString(), { connector, bank_code: "MB2U0227", ...over });

async function run({ api }: Tenant, body: object = {}): Promise<Json> {
  const { status, body: told } = await api("POST", "/emandate/collections/run", body);
  expect([status, told]).toEqual([202, expect.anything()]);
  return told.data;
}

/** The lines of a run's file, without the header. */
async function fileOf({ api }: Tenant, id: number): Promise<string[]> {
  const { status, body } = await api("GET", `/emandate/collections/${id}/file`);
  expect(status).toBe(200);
  return (body as string).trimEnd().split("\r\n").slice(1);
}

const orderNos = (lines: string[]) => lines.map((line) => line.split(",")[0]);

/** Time goes by with the polling, so that nobody is asked any more. */
async function pass(tenant: Tenant, hours: number): Promise<void> {
  for (let left = hours; left > 0; left -= 12) {
    const some = Math.min(left, 12);
    clock.set(clock.now().add({ hours: some }).toString());
    await runNamedJob(service, "mandate_orders");
  }
  tenant.api = await service.signIn(tenant.admin_email);
}

async function interrupt(id: number): Promise<void> {
  await service.deps.store.tx(async (q) => {
    const t = q.use(collectionRunTable);
    await q.update(t).set({ status: "interrupted" }).where(eq(t.id, id));
  });
}

const setStatus = (id: number, status: "active" | "suspended" | "terminated") =>
  service.deps.store.tx(async (q) => {
    const t = q.use(mandateTable);
    await q.update(t).set({ status }).where(eq(t.id, id));
  });

const debit = async ({ api }: Tenant, mandate: number, amount = "20"): Promise<Json> => {
  const { status, body } = await api("POST", `/emandate/mandates/${mandate}/payments`, { amount });
  expect([status, body]).toEqual([201, expect.anything()]);
  return body.data;
};

/** What the bank says of debits, or of mandates. */
async function results({ api }: Tenant, lines: string[], of = "collections"): Promise<Json> {
  const csv = ["order_no,amount,response_code", ...lines].join("\r\n");
  const { status, body } = await api("POST", `/emandate/${of}/results`, csv, {
    "content-type": "text/csv",
  });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.data;
}

describe("a company with mandates of both", () => {
  test("gives the bank a file without the sandbox's debits, whichever were due", async () => {
    const tenant = await merchant();
    const trial = await dueOf(tenant, "sandbox");
    const only_trial = await run(tenant);
    expect(only_trial).toMatchObject({ connector: "fpx", counts: { submitted: 1 } });
    expect(await fileOf(tenant, only_trial.id)).toEqual([]);

    const real = await dueOf(tenant, "fpx");
    await dueOf(tenant, "sandbox");
    const both = await run(tenant);
    expect(both).toMatchObject({ connector: "fpx", error: null, counts: { submitted: 2 } });
    const [payment] = await paymentsOf(tenant.api, real);
    expect(orderNos(await fileOf(tenant, both.id))).toEqual([payment.order_no]);
    expect((await paymentsOf(tenant.api, trial))[0].status).toBe("submitted");
  });

  test("that went back to the sandbox still gets its bank's file", async () => {
    const tenant = await merchant("sandbox");
    const alone = await merchant("sandbox");
    const trial = await dueOf(alone, "sandbox");
    const sandboxed = await run(alone);
    expect(sandboxed.connector).toBe("sandbox");
    const [tried] = await paymentsOf(alone.api, trial);
    expect(orderNos(await fileOf(alone, sandboxed.id))).toEqual([tried.order_no]);

    const real = await dueOf(tenant, "fpx");
    await dueOf(tenant, "sandbox");
    const both = await run(tenant);
    expect(both).toMatchObject({ connector: "fpx", counts: { submitted: 2 } });
    const [payment] = await paymentsOf(tenant.api, real);
    expect(orderNos(await fileOf(tenant, both.id))).toEqual([payment.order_no]);
  });

  test("looks ahead for those of the sandbox only", async () => {
    const tenant = await merchant("sandbox");
    const next = today().add({ days: 1 }).toString();
    const real = await addMandate(service.deps, tenant, next, { connector: "fpx" });
    const trial = await addMandate(service.deps, tenant, next);
    const by_hand = await addMandate(service.deps, tenant, null, { connector: "fpx" });
    const later = { amount: "20", due_date: next };
    expect((await tenant.api("POST", `/emandate/mandates/${by_hand}/payments`, later)).status).toBe(201);
    const waiting = await debit(tenant, await addMandate(service.deps, tenant, null, { connector: "fpx" }));
    const before = await requireMandate(
      { q: service.deps.store.read, scope: tenant, now: Temporal.Now.instant() },
      real,
    );

    const ahead = await run(tenant, { date: next });
    expect(ahead).toMatchObject({ connector: "sandbox", counts: { due: 1, submitted: 1 } });
    const [tried] = await paymentsOf(tenant.api, trial);
    expect(orderNos(await fileOf(tenant, ahead.id))).toEqual([tried.order_no]);
    expect(
      await requireMandate({ q: service.deps.store.read, scope: tenant, now: Temporal.Now.instant() }, real),
    ).toEqual(before);
    expect(await paymentsOf(tenant.api, real)).toEqual([]);
    expect((await paymentsOf(tenant.api, by_hand))[0].status).toBe("scheduled");
    expect(orderNos(await fileOf(tenant, (await run(tenant)).id))).toEqual([waiting.order_no]);
  });

  test("keeps what FPX needs while mandates go on with it, and is told when it can't be used", async () => {
    const tenant = await merchant("sandbox");
    const real = await dueOf(tenant, "fpx");
    const refused = await tenant.api("PUT", "/emandate/config", { seller_id: null, private_key_pem: null });
    expect([refused.status, refused.body.details]).toEqual([
      422,
      [
        { path: "/seller_id", message: "is required while mandates go on with FPX" },
        { path: "/private_key_pem", message: "is required while mandates go on with FPX" },
      ],
    ]);
    await service.deps.store.tx(async (q) => {
      const tx = { q, scope: tenant, now: clock.now() };
      await saveConfig(tx, { ...(await findConfig(tx)), seller_id: null });
    });
    expect((await run(tenant)).error).toBe("Cannot work with FPX: not configured: seller_id missing");
    // What was missing before does not keep anything else from being changed.
    expect((await tenant.api("PUT", "/emandate/config", { max_retries: 2 })).status).toBe(200);
    await setStatus(real, "terminated");
    expect((await tenant.api("PUT", "/emandate/config", { exchange_id: null })).status).toBe(200);
  });

  test("sees which of FPX's banks are online as long as mandates go on with it", async () => {
    const tenant = await merchant("sandbox");
    const t = service.deps.store.read.use(emandateBankListTable);
    const asked = async () => {
      await runNamedJob(service, "emandate_banks");
      return service.deps.store.read.select().from(t).where(eq(t.company_id, tenant.company_id));
    };
    expect(await asked()).toEqual([]);
    await dueOf(tenant, "fpx");
    expect(await asked()).toHaveLength(1);
  });
});

describe("the file of a run", () => {
  test("can't be had while it goes on, and then has the same bytes, whatever happens", async () => {
    const tenant = await merchant();
    const real = await dueOf(tenant, "fpx", { max_no_debit: "9" });
    const [{ id: going_on }] = [
      await service.deps.store.tx((q) =>
        insertRun(
          { q, scope: tenant, now: clock.now() },
          {
            connector: "fpx",
            date: today().toString(),
            requested_by: null,
            counts: { due: 0, scheduled: 0, skipped: 0, submitted: 0, refused: 0 },
            error: null,
          },
        ),
      ),
    ];
    const early = await tenant.api("GET", `/emandate/collections/${going_on}/file`);
    expect([early.status, early.body.error]).toEqual([
      409,
      `Cannot get the file of collection run ${going_on}: it is running`,
    ]);
    await interrupt(going_on);

    const { id } = await run(tenant);
    const first = await tenant.api("GET", `/emandate/collections/${id}/file`);
    const by_hand = await debit(tenant, real);
    await pass(tenant, 60);
    const second = await run(tenant);
    expect(orderNos(await fileOf(tenant, second.id))).toEqual([by_hand.order_no]);
    expect((await tenant.api("GET", `/emandate/collections/${id}/file`)).body).toBe(first.body);
  });

  test("of one that was interrupted is nobody's: its debits are in the next one's, once", async () => {
    const tenant = await merchant();
    const real = await dueOf(tenant, "fpx");
    const { id } = await run(tenant);
    await interrupt(id);
    expect((await tenant.api("GET", `/emandate/collections/${id}/file`)).status).toBe(409);
    const [payment] = await paymentsOf(tenant.api, real);
    const next = await run(tenant);
    expect(next.counts).toMatchObject({ due: 0, submitted: 1 });
    expect(orderNos(await fileOf(tenant, next.id))).toEqual([payment.order_no]);
    expect((await run(tenant)).counts.submitted).toBe(0);
    expect(await paymentsOf(tenant.api, real)).toEqual([payment]);
  });
});

describe("a debit that left in no file", () => {
  test("is found by the job, also when nobody asks the scheme any more, and asked for anew", async () => {
    const tenant = await merchant();
    const mandate = await addMandate(service.deps, tenant, null, { connector: "fpx" });
    const { id, order_no } = await debit(tenant, mandate);
    await pass(tenant, 60);
    expect((await getPayment(tenant.api, id)).attempts[0].flagged_at).not.toBeNull();
    await runNamedJob(service, "collections");
    const [latest] = (await tenant.api("GET", "/emandate/collections")).body.data;
    expect(orderNos(await fileOf(tenant, latest.id))).toEqual([order_no]);
    expect((await getPayment(tenant.api, id)).attempts[0].flagged_at).toBeNull();
    const t = service.deps.store.read.use(mandatePaymentTable);
    const [row] = await service.deps.store.read.select().from(t).where(eq(t.id, id));
    expect(row?.debit_date).toBe(today().toString());
  });

  test("waits while its mandate rests, and is given up when it has ended", async () => {
    const tenant = await merchant();
    const mandates = [];
    for (let i = 0; i < 2; i++) {
      mandates.push(await addMandate(service.deps, tenant, null, { connector: "fpx", max_no_debit: "9" }));
    }
    const [resting = 0, ended = 0] = mandates;
    const waits = await debit(tenant, resting);
    const over = await debit(tenant, ended);
    await setStatus(resting, "suspended");
    await setStatus(ended, "terminated");
    const first = await run(tenant);
    expect(first.counts).toMatchObject({ submitted: 0, refused: 1 });
    expect(await fileOf(tenant, first.id)).toEqual([]);
    expect(await getPayment(tenant.api, over.id)).toMatchObject({
      status: "cancelled",
      response_message: "Not made: the mandate is terminated",
      attempts: [{ response_message: "Never given to the bank", completed_at: expect.any(String) }],
    });
    await setStatus(resting, "active");
    expect(orderNos(await fileOf(tenant, (await run(tenant)).id))).toEqual([waits.order_no]);
  });

  test("takes the amount that the bank has agreed to since, where it is a collection's", async () => {
    const tenant = await merchant();
    const mandate = await dueOf(tenant, "fpx", { max_no_debit: "2" });
    await interrupt((await run(tenant)).id);
    const by_hand = await debit(tenant, mandate, "30");
    const path = `/emandate/mandates/${mandate}`;
    expect((await tenant.api("POST", `${path}/amend`, { amount: "20.00" })).status).toBe(202);
    const { order_no } = (await tenant.api("GET", path)).body.data;
    expect(await results(tenant, [`${order_no},1.00,00`], "mandates")).toMatchObject({ applied: 1 });
    const lines = await fileOf(tenant, (await run(tenant)).id);
    const [collected, other] = await paymentsOf(tenant.api, mandate);
    expect([collected, other]).toMatchObject([{ amount: "20.00" }, { id: by_hand.id, amount: "30.00" }]);
    expect(lines.map((line) => line.split(",")[5])).toEqual(["20.00", "30.00"]);
    expect(await results(tenant, [`${collected.order_no},20.00,00`])).toMatchObject({ applied: 1 });
  });

  test("is given up once, also where no mandate goes on with FPX", async () => {
    const tenant = await merchant("sandbox");
    const mandate = await addMandate(service.deps, tenant, null, { connector: "fpx" });
    const { id } = await debit(tenant, mandate);
    await setStatus(mandate, "terminated");
    for (let i = 0; i < 3; i++) await runNamedJob(service, "collections");
    expect((await tenant.api("GET", "/emandate/collections")).body.meta.total).toBe(1);
    expect((await getPayment(tenant.api, id)).status).toBe("cancelled");
  });

  test("may be of the period before for a week, and is given up after that", async () => {
    const tenant = await merchant();
    const made = [];
    for (let i = 0; i < 2; i++) {
      const mandate = await addMandate(service.deps, tenant, null, { connector: "fpx", frequency: "Daily" });
      made.push({ mandate, payment: await debit(tenant, mandate) });
    }
    const [soon, late] = made;
    if (!soon || !late) throw new Error("Nothing was made");
    await setStatus(late.mandate, "suspended");
    await pass(tenant, 24);
    expect(orderNos(await fileOf(tenant, (await run(tenant)).id))).toEqual([soon.payment.order_no]);
    clock.set(
      clock
        .now()
        .add({ hours: 24 * 7 })
        .toString(),
    );
    tenant.api = await service.signIn(tenant.admin_email);
    await setStatus(late.mandate, "active");
    expect((await run(tenant)).counts).toMatchObject({ submitted: 0, refused: 1 });
    expect(await getPayment(tenant.api, late.payment.id)).toMatchObject({
      status: "skipped",
      response_message: "Not made: the mandate has entered another period",
    });
  });

  test("is checked as any debit is before it goes", async () => {
    const tenant = await merchant();
    const mandate = await addMandate(service.deps, tenant, null, { connector: "fpx" });
    const { id } = await debit(tenant, mandate, "80");
    await service.deps.store.tx(async (q) => {
      const t = q.use(mandateTable);
      await q.update(t).set({ max_amount: "79.99" }).where(eq(t.id, mandate));
    });
    expect((await run(tenant)).counts).toMatchObject({ submitted: 0, refused: 1 });
    const message = "Not made: the mandate allows at most 79.99";
    expect(await getPayment(tenant.api, id)).toMatchObject({
      status: "cancelled",
      response_message: message,
    });
  });

  test("never leaves once the bank says that the attempt before it was paid", async () => {
    const tenant = await merchant();
    const mandate = await dueOf(tenant, "fpx");
    const first = await run(tenant);
    const [{ id }] = await paymentsOf(tenant.api, mandate);
    await results(tenant, [`D${id}-1,50.00,OF`]);
    expect((await tenant.api("POST", `/emandate/payments/${id}/retry`, {})).status).toBe(200);
    expect(await results(tenant, [`D${id}-1,50.00,00`])).toMatchObject({ applied: 1 });
    const second = await run(tenant);
    expect(second.counts.submitted).toBe(0);
    expect(await fileOf(tenant, second.id)).toEqual([]);
    expect(orderNos(await fileOf(tenant, first.id))).toEqual([`D${id}-1`]);
    expect(await getPayment(tenant.api, id)).toMatchObject({
      status: "paid",
      order_no: `D${id}-1`,
      attempts: [
        { response_code: "00" },
        { response_message: "Never given to the bank", completed_at: expect.any(String) },
      ],
    });
  });
});
