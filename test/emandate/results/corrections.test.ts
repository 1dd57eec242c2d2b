import { describe, expect, test } from "bun:test";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addMandate, at, getPayment, paymentsOf, recordedEvents } from "../payments/fixtures.ts";

// A bank that corrects itself, over HTTP: results files, runs and the list of what a person must decide.

const clock = new TestClock(at("2026-03-09"));
const service = useService({ clock });

/** A company that collected one mandate on Monday, 9 March 2026. */
interface Collected {
  tenant: Tenant;
  mandate: number;
  /** The payment of March, and the run in which its first attempt went out. */
  payment: number;
  run_id: number;
}

async function collected(over: object = {}): Promise<Collected> {
  clock.set(at("2026-03-09"));
  const tenant = await service.addTenant();
  const config = await tenant.api("PUT", "/emandate/config", { suspend_after_failures: 5 });
  expect(config.status).toBe(200);
  const mandate = await addMandate(service.deps, tenant, "2026-03-09", over);
  const run_id = await run(tenant);
  const [payment] = await paymentsOf(tenant.api, mandate);
  return { tenant, mandate, payment: payment?.id, run_id };
}

async function run({ api }: Tenant): Promise<number> {
  const { status, body } = await api("POST", "/emandate/collections/run", {});
  expect(status).toBe(202);
  return body.data.id;
}

/** Takes the clock to a day and collects then; returns the run's id. */
async function runOn(tenant: Tenant, day: string): Promise<number> {
  clock.set(at(day));
  tenant.api = await service.signIn(tenant.admin_email);
  return run(tenant);
}

/** The bank's file says one thing of one order. */
async function file({ api }: Tenant, run_id: number, order_no: string, rest: string): Promise<Json> {
  const csv = `order_no,amount,response_code,charged_back\r\n${order_no},50.00,${rest}\r\n`;
  const path = `/emandate/collections/${run_id}/results`;
  const { status, body } = await api("POST", path, csv, { "content-type": "text/csv" });
  expect([status, body.data.rejected]).toEqual([200, 0]);
  const { applied, flagged, unchanged } = body.data;
  return { applied, flagged, unchanged };
}

const APPLIED = { applied: 1, flagged: 0, unchanged: 0 };
const FLAGGED = { applied: 0, flagged: 1, unchanged: 0 };
const UNCHANGED = { applied: 0, flagged: 0, unchanged: 1 };

const flagsOf = async ({ api }: Tenant, query = ""): Promise<Json[]> => {
  const { status, body } = await api("GET", `/emandate/flags?limit=100${query}`);
  expect(status).toBe(200);
  return body.data;
};
const reasons = async (tenant: Tenant) => (await flagsOf(tenant)).map(({ reason }) => reason);

describe("a success that comes after a failure", () => {
  test("pays the payment and cancels the retry that waits: nothing is debited again", async () => {
    const { tenant, payment, run_id } = await collected();
    expect(await file(tenant, run_id, `D${payment}-1`, "OF,")).toEqual(APPLIED);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "retry_scheduled",
      response_message: "Transaction timed out",
    });
    expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual(APPLIED);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "paid",
      next_attempt_at: null,
      paid_at: at("2026-03-09"),
      response_code: "00",
      attempts: [{ response_code: "00", completed_at: null }],
    });
    await runOn(tenant, "2026-03-10");
    expect(await getPayment(tenant.api, payment)).toMatchObject({ status: "paid", attempt_count: 1 });
    expect((await tenant.api("POST", `/emandate/payments/${payment}/retry`)).status).toBe(409);
    expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual(UNCHANGED);
    expect(await flagsOf(tenant)).toEqual([]);
    expect((await recordedEvents(tenant.api)).at(-1)).toBe(`paid ${payment}`);
  });

  test.each(["failed", "cancelled"])("pays one that is %s by then", async (status) => {
    const { tenant, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, status === "failed" ? "53," : "51,");
    if (status === "cancelled") {
      expect((await tenant.api("POST", `/emandate/payments/${payment}/cancel`)).status).toBe(200);
    }
    expect((await getPayment(tenant.api, payment)).status).toBe(status);
    expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual(APPLIED);
    expect((await getPayment(tenant.api, payment)).status).toBe("paid");
    expect(await flagsOf(tenant)).toEqual([]);
  });

  test("and after a debit by hand that took its place is flagged: the period was debited twice", async () => {
    const { tenant, mandate, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, "53,");
    const by_hand = await tenant.api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "50.00" });
    expect(by_hand.status).toBe(201);
    expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual({ ...APPLIED, flagged: 1 });
    expect((await getPayment(tenant.api, payment)).status).toBe("paid");
    expect(await reasons(tenant)).toEqual(["paid_beyond_limit"]);
  });

  test("once the retry was sent pays, and is flagged; what becomes of the retry then does not undo it", async () => {
    for (const [said, told, then] of [
      ["51,", APPLIED, ["retry_was_sent"]],
      ["00,", { ...APPLIED, flagged: 1 }, ["paid_twice", "retry_was_sent"]],
    ] as const) {
      const { tenant, payment, run_id } = await collected();
      await file(tenant, run_id, `D${payment}-1`, "OF,");
      const second = await runOn(tenant, "2026-03-10");
      expect((await getPayment(tenant.api, payment)).status).toBe("submitted");
      expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual({ ...APPLIED, flagged: 1 });
      const paid = { status: "paid", order_no: `D${payment}-1`, next_attempt_at: null };
      expect(await getPayment(tenant.api, payment)).toMatchObject(paid);
      expect(await reasons(tenant)).toEqual(["retry_was_sent"]);
      expect(await file(tenant, second, `D${payment}-2`, said)).toEqual(told);
      expect(await getPayment(tenant.api, payment)).toMatchObject(paid);
      expect(await reasons(tenant)).toEqual([...then]);
      await runOn(tenant, "2026-03-11");
      expect(await getPayment(tenant.api, payment)).toMatchObject({ ...paid, attempt_count: 2 });
    }
  });

  test("of an attempt before the last pays too, while no other is on its way", async () => {
    const { tenant, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, "OF,");
    const second = await runOn(tenant, "2026-03-10");
    await file(tenant, second, `D${payment}-2`, "51,");
    expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual(APPLIED);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "paid",
      order_no: `D${payment}-1`,
      next_attempt_at: null,
    });
    // The money that came back is that attempt's.
    expect(await file(tenant, run_id, `D${payment}-1`, "00,yes")).toEqual(APPLIED);
    expect((await getPayment(tenant.api, payment)).status).toBe("charged_back");
  });

  test("of an attempt before one that failed late pays, and is flagged: the period is not debited again", async () => {
    const { tenant, mandate, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, "OF,");
    const second = await runOn(tenant, "2026-03-10");
    await file(tenant, second, `D${payment}-2`, "00,");
    await file(tenant, second, `D${payment}-2`, "53,");
    expect((await getPayment(tenant.api, payment)).status).toBe("failed");
    expect(await file(tenant, run_id, `D${payment}-1`, "00,")).toEqual({ ...APPLIED, flagged: 1 });
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "paid",
      order_no: `D${payment}-1`,
    });
    expect(await reasons(tenant)).toEqual(["paid_after_return"]);
    const by_hand = await tenant.api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "50.00" });
    expect(by_hand.status).toBe(422);
  });
});

describe("what can't be applied", () => {
  test.each([
    ["a success after a charge-back", ["00,", "00,yes"], "00,", "charged_back", "paid_after_return"],
    ["a success after a late failure", ["00,", "53,"], "00,", "failed", "paid_after_return"],
    ["a success that is heard after the charge-back", ["00,yes"], "00,", "charged_back", "paid_after_return"],
    ["the failure that was taken back", ["51,", "00,"], "51,", "paid", "failed_after_correction"],
  ])("%s is flagged once, and told of; nothing changes", async (_, before, said, status, reason) => {
    const { tenant, mandate, payment, run_id } = await collected();
    const order_no = `D${payment}-1`;
    for (const one of before) expect(await file(tenant, run_id, order_no, one)).toEqual(APPLIED);
    expect(await file(tenant, run_id, order_no, said)).toEqual(FLAGGED);
    expect(await file(tenant, run_id, order_no, said)).toEqual(UNCHANGED);
    expect((await getPayment(tenant.api, payment)).status).toBe(status);
    const [flag, ...more] = await flagsOf(tenant);
    expect(more).toEqual([]);
    expect(flag).toMatchObject({
      mandate_id: mandate,
      payment_id: payment,
      order_no,
      reason,
      status: "open",
      response_code: said.slice(0, 2),
      note: null,
      resolved_at: null,
    });
    const { body } = await tenant.api("GET", "/events?type=emandate.flag.*");
    expect(body.data.map(({ type, data }: Json) => [type, data])).toEqual([
      [
        "emandate.flag.raised",
        { id: flag?.id, mandate_id: mandate, payment_id: payment, reason, status: "open" },
      ],
    ]);
  });

  test.each([
    [
      ["51,", "53,"],
      [APPLIED, APPLIED],
    ],
    [
      ["53,", "51,"],
      [APPLIED, UNCHANGED],
    ],
    [
      ["53,", "14,", "51,"],
      [APPLIED, UNCHANGED, UNCHANGED],
    ],
  ])(
    "any of several failures that were taken back is flagged when it comes again: %p",
    async (failures, told) => {
      const { tenant, payment, run_id } = await collected();
      const order_no = `D${payment}-1`;
      const hear = (said: string) => file(tenant, run_id, order_no, said);
      for (const [i, said] of failures.entries()) expect(await hear(said)).toEqual(told[i] ?? APPLIED);
      expect(await hear("00,")).toEqual(APPLIED);
      for (const said of failures) expect(await hear(said)).toEqual(FLAGGED);
      expect((await getPayment(tenant.api, payment)).status).toBe("paid");
      // One that is new is believed.
      expect(await hear("30,")).toEqual(APPLIED);
      expect((await getPayment(tenant.api, payment)).status).toBe("failed");
    },
  );

  test("a failure for good while a retry waits ends it, a charge-back too", async () => {
    for (const [said, status] of [
      ["53,", "failed"],
      ["00,yes", "charged_back"],
    ]) {
      const { tenant, payment, run_id } = await collected();
      await file(tenant, run_id, `D${payment}-1`, "OF,");
      expect(await file(tenant, run_id, `D${payment}-1`, said ?? "")).toEqual(APPLIED);
      expect(await getPayment(tenant.api, payment)).toMatchObject({ status, next_attempt_at: null });
    }
  });
});

describe("a charge-back counts in its period, whatever the bank said before", () => {
  /** Nothing more may be debited in March. */
  async function expectFull({ api }: Tenant, mandate: number): Promise<void> {
    const { status, body } = await api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "50.00" });
    expect([status, JSON.stringify(body)]).toEqual([
      422,
      expect.stringContaining("the mandate allows 1 in a period, and 2026-03 has 1"),
    ]);
    expect(await paymentsOf(api, mandate)).toHaveLength(1);
  }

  test("of a debit that was paid and then failed late: no other is made", async () => {
    const { tenant, mandate, payment, run_id } = await collected();
    const order_no = `D${payment}-1`;
    for (const said of ["00,", "53,", "00,yes"]) {
      expect(await file(tenant, run_id, order_no, said)).toEqual(APPLIED);
    }
    expect(await getPayment(tenant.api, payment)).toMatchObject({ status: "charged_back", order_no });
    expect(await file(tenant, run_id, order_no, "00,yes")).toEqual(UNCHANGED);
    await expectFull(tenant, mandate);
  });

  test("of an attempt before one that failed late: no other is made", async () => {
    const { tenant, mandate, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, "51,");
    const second = await runOn(tenant, "2026-03-10");
    for (const said of ["00,", "53,"]) {
      expect(await file(tenant, second, `D${payment}-2`, said)).toEqual(APPLIED);
    }
    expect(await file(tenant, run_id, `D${payment}-1`, "00,yes")).toEqual(APPLIED);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "charged_back",
      order_no: `D${payment}-1`,
    });
    await expectFull(tenant, mandate);
  });

  test("of an attempt that does not count is flagged", async () => {
    const { tenant, mandate, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, "OF,");
    const second = await runOn(tenant, "2026-03-10");
    await file(tenant, run_id, `D${payment}-1`, "00,");
    const told = { ...APPLIED, flagged: 1 };
    expect(await file(tenant, second, `D${payment}-2`, "00,yes")).toEqual(told);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "paid",
      order_no: `D${payment}-1`,
    });
    expect(await reasons(tenant)).toEqual(["earlier_attempt_returned", "retry_was_sent"]);
    await expectFull(tenant, mandate);
  });

  test("of two attempts is one of a payment, and flagged for the other", async () => {
    const { tenant, payment, run_id } = await collected();
    await file(tenant, run_id, `D${payment}-1`, "51,");
    const second = await runOn(tenant, "2026-03-10");
    expect(await file(tenant, second, `D${payment}-2`, "00,yes")).toEqual(APPLIED);
    expect(await file(tenant, run_id, `D${payment}-1`, "00,yes")).toEqual(FLAGGED);
    expect(await file(tenant, run_id, `D${payment}-1`, "00,yes")).toEqual(UNCHANGED);
    expect(await reasons(tenant)).toEqual(["earlier_attempt_returned"]);
  });
});

describe("an attempt that was paid after a failure, and then failed after all", () => {
  /** Both attempts of March went out: the first had failed, and is paid now. */
  async function bothSent() {
    const { tenant, mandate, payment, run_id: first } = await collected();
    await file(tenant, first, `D${payment}-1`, "OF,");
    const second = await runOn(tenant, "2026-03-10");
    await file(tenant, first, `D${payment}-1`, "00,");
    const byHand = () => tenant.api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "50.00" });
    return { tenant, mandate, payment, first, second, byHand };
  }

  test("leaves the payment to the retry that is on its way: nothing else is debited", async () => {
    const { tenant, payment, first, second, byHand } = await bothSent();
    expect(await file(tenant, first, `D${payment}-1`, "53,")).toEqual(APPLIED);
    const under_way = { status: "submitted", order_no: `D${payment}-2`, paid_at: null, response_code: null };
    expect(await getPayment(tenant.api, payment)).toMatchObject(under_way);
    expect(await file(tenant, first, `D${payment}-1`, "53,")).toEqual(UNCHANGED);
    expect((await byHand()).status).toBe(422);
    expect(await file(tenant, second, `D${payment}-2`, "00,")).toEqual(APPLIED);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "paid",
      order_no: `D${payment}-2`,
    });
    expect((await byHand()).status).toBe(422);
    expect((await recordedEvents(tenant.api)).slice(-3)).toEqual([
      `paid ${payment}`,
      `submitted ${payment}`,
      `paid ${payment}`,
    ]);
  });

  test("leaves it to the retry that was paid too, which then fails it", async () => {
    const { tenant, payment, first, second, byHand } = await bothSent();
    await file(tenant, second, `D${payment}-2`, "00,");
    expect(await file(tenant, first, `D${payment}-1`, "53,")).toEqual(APPLIED);
    const paid = { status: "paid", order_no: `D${payment}-2`, response_code: "00" };
    expect(await getPayment(tenant.api, payment)).toMatchObject(paid);
    expect((await byHand()).status).toBe(422);
    expect(await file(tenant, second, `D${payment}-2`, "53,")).toEqual(APPLIED);
    expect(await getPayment(tenant.api, payment)).toMatchObject({
      status: "failed",
      order_no: `D${payment}-2`,
    });
    expect((await byHand()).status).toBe(201);
  });

  test("fails the payment where the retry has failed", async () => {
    const { tenant, payment, first, second, byHand } = await bothSent();
    await file(tenant, second, `D${payment}-2`, "51,");
    expect(await file(tenant, first, `D${payment}-1`, "53,")).toEqual(APPLIED);
    expect((await getPayment(tenant.api, payment)).status).toBe("failed");
    expect((await byHand()).status).toBe(201);
  });
});

test("a debit that the bank refuses for our own message fails, and does not count against the mandate", async () => {
  const { tenant, payment, run_id, mandate } = await collected();
  await tenant.api("PUT", "/emandate/config", { suspend_after_failures: 1 });
  expect(await file(tenant, run_id, `D${payment}-1`, "30,")).toEqual(APPLIED);
  expect((await getPayment(tenant.api, payment)).status).toBe("failed");
  expect((await tenant.api("GET", `/emandate/mandates/${mandate}`)).body.data.status).toBe("active");
});
