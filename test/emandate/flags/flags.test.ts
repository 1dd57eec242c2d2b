import { beforeAll, describe, expect, test } from "bun:test";
import type { Json, Tenant } from "../../support/harness.ts";
import { addMandate, answer, CHARGED_BACK, PAID } from "../payments/fixtures.ts";
import { openEmandateFixture, useEmandateFixture } from "../mandates/fixtures.ts";

let tenant: Tenant;
/** Flagged payments of three mandates, the oldest first. */
const flagged: { mandate: number; payment: number; flag: Json }[] = [];

const emandate = useEmandateFixture();

beforeAll(async () => {
  tenant = await emandate.service.addTenant();
  for (let i = 0; i < 3; i++) flagged.push(await flagOne());
});

/** A debit that came back and that the bank then says was paid. */
async function flagOne(): Promise<(typeof flagged)[number]> {
  const { deps } = emandate.service;
  const mandate = await addMandate(deps, tenant, null);
  const { body } = await tenant.api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "20.00" });
  const { id: payment, order_no } = body.data;
  for (const result of [PAID, CHARGED_BACK, PAID]) await answer(deps, tenant, order_no, result);
  const flags = await tenant.api("GET", `/emandate/flags?payment_id=${payment}`);
  expect(flags.body.data).toHaveLength(1);
  return { mandate, payment, flag: flags.body.data[0] };
}

const list = async (query: string, api = tenant.api) => {
  const { status, body } = await api("GET", `/emandate/flags?${query}`);
  expect(status).toBe(200);
  return body;
};
const resolve = (id: number, body: Json, api = tenant.api) =>
  api("POST", `/emandate/flags/${id}/resolve`, body);

describe("the list", () => {
  test("is paged, newest first, and narrowed by status, reason, mandate and payment", async () => {
    const ids = flagged.map(({ flag }) => flag.id).toReversed();
    const { data, meta } = await list("limit=2&page=1");
    expect([data.map(({ id }: Json) => id), meta]).toEqual([
      ids.slice(0, 2),
      expect.objectContaining({ total: 3 }),
    ]);
    const { mandate, payment, flag } = flagged[1] ?? {};
    for (const query of [`mandate_id=${mandate}`, `payment_id=${payment}`]) {
      expect((await list(query)).data).toEqual([flag]);
    }
    expect((await list("reason=paid_after_return&status=open")).data).toHaveLength(3);
    expect((await list("reason=no_answer")).data).toEqual([]);
    expect((await list("status=resolved")).data).toEqual([]);
    expect((await tenant.api("GET", `/emandate/flags/${flag?.id}`)).body.data).toEqual(flag);
  });

  test.each([
    "status=done",
    "reason=because",
    "mandate_id=abc",
    "payment_id=0",
    "page=0",
    "limit=101",
    "sort=name",
  ])("refuses %s", async (query) => {
    const { status, body } = await tenant.api("GET", `/emandate/flags?${query}`);
    expect([status, body.details[0].path]).toEqual([422, `/${query.split("=")[0]}`]);
  });
});

describe("resolving", () => {
  test("records who decided what, once, has its event and is audited; nothing else changes", async () => {
    const { payment, flag } = flagged[0] ?? {};
    const before = (await tenant.api("GET", `/emandate/payments/${payment}`)).body.data;
    const { status, body } = await resolve(flag?.id, { note: " Refunded by transfer " });
    expect([status, body.data]).toEqual([
      200,
      {
        ...flag,
        status: "resolved",
        note: "Refunded by transfer",
        resolved_by: expect.any(Number),
        resolved_at: expect.any(String),
        updated_at: expect.any(String),
      },
    ]);
    expect((await resolve(flag?.id, { note: "Again" })).status).toBe(409);
    expect((await list("status=open")).data).toHaveLength(2);
    expect((await list("status=resolved")).data).toEqual([body.data]);
    expect((await tenant.api("GET", `/emandate/payments/${payment}`)).body.data).toEqual(before);
    const told = await tenant.api("GET", "/events?type=emandate.flag.resolved");
    expect(told.body.data[0].data).toMatchObject({ id: flag?.id, payment_id: payment, status: "resolved" });
    const audit = await tenant.api("GET", "/audit-log?operation=resolve_mandate_flag");
    expect(audit.body.data).toHaveLength(1);
    expect(audit.body.data[0]).toMatchObject({
      actor: { kind: "user" },
      target: { type: "mandate_flag", id: flag?.id },
      changes: { status: { old: "open", new: "resolved" } },
    });
    // What was decided is not put on the list again.
    const { order_no } = flag ?? {};
    await answer(emandate.service.deps, tenant, order_no, PAID);
    expect((await list(`payment_id=${payment}`)).data).toEqual([body.data]);
  });

  test.each([{}, { note: "" }, { note: " " }, { note: 7 }, { note: "x".repeat(1_001) }])(
    "with %j is refused",
    async (body) => {
      const { status, body: refused } = await resolve(flagged[1]?.flag.id, body);
      expect([status, refused.details[0].path]).toEqual([422, "/note"]);
    },
  );

  test("of two at once one wins", async () => {
    const { id } = flagged[1]?.flag ?? {};
    const answers = await Promise.all(["a", "b", "c", "d"].map((note) => resolve(id, { note })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
  });

  test("another company finds nothing, here or there", async () => {
    const other = await emandate.service.addTenant();
    const { id } = flagged[2]?.flag ?? {};
    expect((await list("", other.api)).data).toEqual([]);
    expect((await other.api("GET", `/emandate/flags/${id}`)).status).toBe(404);
    expect((await resolve(id, { note: "Mine" }, other.api)).status).toBe(404);
    expect((await tenant.api("GET", `/emandate/flags/${id}`)).body.data.status).toBe("open");
  });
});

test("an order that nobody answers for two days is flagged, and resolved by itself when it is answered", async () => {
  const own = await openEmandateFixture();
  try {
    const { id } = await own.mandateIn("active");
    const path = `/emandate/mandates/${id}/payments`;
    const { body } = await own.service.api("POST", path, { amount: "20.00" });
    const { id: payment_id, order_no } = body.data;
    for (let hour = 0; hour <= 49; hour++) await own.pass({ hours: 1 });
    own.service.api = await own.service.signIn(own.service.admin_email);
    const flags = async () => (await own.service.api("GET", `/emandate/flags`)).body.data;
    expect(await flags()).toEqual([
      expect.objectContaining({ mandate_id: id, payment_id, order_no, reason: "no_answer", status: "open" }),
    ]);
    await own.scenario("payment_paid", { payment_id });
    expect(await flags()).toEqual([
      expect.objectContaining({
        status: "resolved",
        note: "The scheme has answered since",
        resolved_by: null,
      }),
    ]);
  } finally {
    await own.service.stop();
  }
});
