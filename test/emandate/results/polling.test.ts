import { expect, spyOn, test } from "bun:test";
import { applyResult } from "../../../src/emandate/results/apply_result.ts";
import { listDueOrders } from "../../../src/emandate/results/polling_queries.ts";
import { findLastOrder, type MandateOrder } from "../../../src/emandate/orders/queries.ts";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import { sandbox } from "../../../src/emandate/scheme/sandbox.ts";
import type { SchemeResult } from "../../../src/emandate/scheme/connector.ts";
import { openEmandateFixture, useEmandateFixture } from "../mandates/fixtures.ts";

const emandate = useEmandateFixture();

const status = async (id: number) => (await emandate.read(id)).status;

async function orderOf(mandate_id: number): Promise<MandateOrder> {
  const { deps, company_id } = emandate.service;
  const order = await findLastOrder(
    { q: deps.store.read, scope: { company_id }, now: Temporal.Now.instant() },
    { mandate_id },
  );
  if (!order) throw new Error("Nothing was asked");
  return order;
}

const hear = (order: MandateOrder, result: Partial<SchemeResult>) =>
  emandate.service.deps.store.tx((q) =>
    applyResult({ q, scope: emandate.service, now: emandate.clock.now() }, order, {
      ...resultOf("00"),
      ...result,
    }),
  );

test.each([
  ["Successful Tan", ["pending_approval", "active"]],
  ["Penniless Tan", ["pending_approval", "active"]],
  ["Fickle Tan", ["pending_approval", "active"]],
  ["Late Tan", ["pending_approval", "active"]],
  ["Invalid Tan", ["failed", "failed"]],
  ["Ahmad Successful", ["pending_authorization", "pending_authorization"]],
])("%s drives the sandbox: %p, five seconds a step", async (name, steps) => {
  const { id } = await emandate.mandate(name);
  await emandate.act(id, "authorize");
  for (const step of steps) {
    await emandate.pass({ seconds: 5 });
    expect(await status(id)).toBe(step);
  }
});

test("a customer who says nothing for 24 hours has not authorized; a word after that is heard all the same", async () => {
  const own = await openEmandateFixture();
  try {
    const { id } = await own.mandate();
    await own.act(id, "authorize");
    await own.pass({ hours: 23, minutes: 59 });
    const api = await own.service.signIn(own.service.admin_email);
    const read = async () => (await api("GET", `/emandate/mandates/${id}`)).body.data;
    expect((await read()).status).toBe("pending_authorization");
    await own.pass({ minutes: 1 });
    const failed = await read();
    expect([failed.status, failed.status_reason]).toEqual(["failed", "Not authorized within 24 hours"]);
    const { deps, company_id } = own.service;
    const order = await findLastOrder(
      { q: deps.store.read, scope: { company_id }, now: Temporal.Now.instant() },
      { mandate_id: id },
    );
    const late = await deps.store.tx((q) =>
      applyResult({ q, scope: { company_id }, now: own.clock.now() }, { id: order?.id ?? 0 }, resultOf("00")),
    );
    expect([late, (await read()).status]).toEqual(["applied", "pending_approval"]);
  } finally {
    await own.service.stop();
  }
});

test("what the bank never decides is flagged after 48 hours, and may still be reported", async () => {
  const own = await openEmandateFixture();
  try {
    const { id } = await own.mandateIn("pending_approval");
    using asked = spyOn(sandbox, "queryStatus");
    for (let hour = 0; hour <= 50; hour++) await own.pass({ hours: 1 });
    expect(asked.mock.calls.length).toBeGreaterThan(45);
    expect(asked.mock.calls.length).toBeLessThanOrEqual(48);
    const { deps, company_id } = own.service;
    const t = deps.store.read.use(mandateOrderTable);
    const [row] = await deps.store.read.select().from(t);
    expect([row?.next_query_at, row?.awaits, row?.flagged_at]).toEqual([
      null,
      "approval",
      expect.any(String),
    ]);
    expect(
      await listDueOrders({ q: deps.store.read, scope: { company_id }, now: own.clock.now() }, 10),
    ).toEqual([]);
    const order = { id: row?.id ?? 0 };
    const told = () =>
      deps.store.tx((q) =>
        applyResult({ q, scope: { company_id }, now: own.clock.now() }, order, resultOf("00")),
      );
    expect([await told(), await told()]).toEqual(["applied", "repeated"]);
    const api = await own.service.signIn(own.service.admin_email);
    expect((await api("GET", `/emandate/mandates/${id}`)).body.data.status).toBe("active");
  } finally {
    await own.service.stop();
  }
});

test("an approval before the authorization does both, once; the authorization after it nothing", async () => {
  const { id } = await emandate.mandateIn("pending_authorization");
  const order = await orderOf(id);
  expect(await hear(order, { answers: "approval" })).toBe("applied");
  const mandate = await emandate.read(id);
  expect([mandate.status, mandate.authorized_at, mandate.activated_at]).toEqual([
    "active",
    expect.any(String),
    expect.any(String),
  ]);
  expect(await hear(order, { answers: "first" })).toBe("repeated");
  expect(await hear(order, { ...resultOf("1C"), answers: "first" })).toBe("ignored");
  expect(await emandate.read(id)).toEqual(mandate);
});

test("an authorization that is reported again is no approval", async () => {
  const { id } = await emandate.mandateIn("pending_approval");
  expect(await hear(await orderOf(id), { answers: "first" })).toBe("repeated");
  expect(await status(id)).toBe("pending_approval");
});

test("the bank ends a mandate unasked, once, by whichever order of it", async () => {
  const { id } = await emandate.mandateIn("active");
  const enrolment = await orderOf(id);
  await emandate.act(id, "amend", { amount: "9.00" }, 202);
  expect(await hear(await orderOf(id), { answers: "end", message: "Account closed" })).toBe("applied");
  expect(await hear(enrolment, { answers: "end" })).not.toBe("applied");
  const mandate = await emandate.read(id);
  expect([mandate.status, mandate.status_reason, mandate.amendment]).toEqual([
    "terminated",
    "Account closed",
    null,
  ]);
  // What was still awaited is closed: its answer comes too late.
  await emandate.pass({ seconds: 5 });
  expect((await emandate.read(id)).bankscheme_txn_amount).toBeNull();
});

test("the same answer by 20 at once has one effect", async () => {
  const { id } = await emandate.mandateIn("pending_authorization");
  const order = await orderOf(id);
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => hear(order, { answers: "first" })));
  expect(outcomes.filter((outcome) => outcome === "applied")).toHaveLength(1);
  expect(await status(id)).toBe("pending_approval");
});

test("an end that the bank refuses leaves the mandate where it was", async () => {
  const { id } = await emandate.mandateIn("suspended");
  await emandate.act(id, "terminate");
  expect(await hear(await orderOf(id), resultOf("92"))).toBe("applied");
  const mandate = await emandate.read(id);
  expect([mandate.status, mandate.status_reason]).toEqual(["suspended", resultOf("92").message]);
  expect(mandate.events[0].type).toBe("emandate.mandate.termination_refused");
});

test("a connector that breaks holds up nothing for good: its orders are asked for again", async () => {
  const { id } = await emandate.mandate("Successful Lim");
  await emandate.act(id, "authorize");
  {
    using _ = spyOn(sandbox, "queryStatus").mockRejectedValue(new Error("cut off"));
    await emandate.pass({ seconds: 3 });
  }
  expect(await status(id)).toBe("pending_authorization");
  await emandate.pass({ minutes: 2 });
  expect(await status(id)).toBe("pending_approval");
});
