import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { sandbox } from "../../../src/emandate/scheme/sandbox.ts";
import type { Json } from "../../support/harness.ts";
import { openEmandateFixture, type EmandateFixture } from "./fixtures.ts";

let emandate: EmandateFixture;
beforeAll(async () => {
  // A Tuesday, noon in Kuala Lumpur.
  emandate = await openEmandateFixture("2026-03-10T04:00:00Z");
});
afterAll(() => emandate.service.stop());

const types = (mandate: Json) =>
  mandate.events.map(({ type }: Json) => type.replace("emandate.mandate.", ""));

describe("authorizing", () => {
  test("answers where the customer goes; the number of the order is in the detail", async () => {
    const { id } = await emandate.mandate();
    const mandate = await emandate.act(id, "authorize", { bank_code: "TEST0021" });
    const { order_no, application_type } = await emandate.read(id);
    expect(mandate).toMatchObject({
      status: "pending_authorization",
      bank_code: "TEST0021",
      effective_date: "2026-03-10",
    });
    expect([order_no, application_type]).toEqual([expect.stringMatching(/^[A-Z0-9-]{10,40}$/), "01"]);
    expect(mandate.authorization_url).toEndWith(`/api/v1/emandate/authorizations/${order_no}`);
    const page = await emandate.service.anonymous("GET", `/emandate/authorizations/${order_no}`);
    expect([page.status, page.body.includes(mandate.reference)]).toEqual([200, true]);
    await emandate.act(id, "cancel");
    const gone = await emandate.service.anonymous("GET", `/emandate/authorizations/${order_no}`);
    expect([gone.status, gone.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
  });

  test.each([["NOBANK"], ["test0021"], [""], [7], ["A".repeat(11)]])(
    "refuses the bank %p",
    async (bank_code) => {
      const { id } = await emandate.mandate();
      const { status, body } = await emandate.service.api("POST", `/emandate/mandates/${id}/authorize`, {
        bank_code,
      });
      expect([status, body.details[0].path]).toEqual([422, "/bank_code"]);
      expect((await emandate.read(id)).status).toBe("pending");
    },
  );

  test("refuses a bank that is offline", async () => {
    const { id } = await emandate.mandate();
    const banks = (await sandbox.listBanks(emandate.clock.now())) ?? [];
    const offline = banks.map((bank) => ({ ...bank, status: "offline" as const }));
    using _ = spyOn(sandbox, "listBanks").mockResolvedValue(offline);
    const path = `/emandate/mandates/${id}/authorize`;
    const { status, body } = await emandate.service.api("POST", path, { bank_code: "TEST0021" });
    expect([status, body.details[0].message]).toEqual([422, "must be a bank that is online"]);
  });

  test("of 20 at once one wins, and the scheme is asked once", async () => {
    const { id } = await emandate.mandate();
    using start = spyOn(sandbox, "startEnrolment");
    const path = `/emandate/mandates/${id}/authorize`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => emandate.service.api("POST", path, {})),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array(19).fill(409),
    ]);
    expect(start).toHaveBeenCalledTimes(1);
    expect(types(await emandate.read(id))).toEqual(["pending_authorization", "created"]);
  });

  test("that breaks on the way leaves an order that is asked for, and never sent again", async () => {
    const { id } = await emandate.mandate("Successful Tan");
    {
      using _ = spyOn(sandbox, "startEnrolment").mockRejectedValue(new Error("cut off"));
      expect((await emandate.service.api("POST", `/emandate/mandates/${id}/authorize`, {})).status).toBe(500);
    }
    expect((await emandate.read(id)).status).toBe("pending_authorization");
    using start = spyOn(sandbox, "startEnrolment");
    await emandate.pass({ seconds: 3 });
    await emandate.pass({ seconds: 3 });
    expect((await emandate.read(id)).status).toBe("active");
    expect(start).not.toHaveBeenCalled();
  });

  test("that failed may be asked for again", async () => {
    const { id } = await emandate.mandateIn("failed");
    const first = await emandate.read(id);
    expect(first.status_reason).not.toBeNull();
    const again = await emandate.act(id, "authorize");
    expect([again.status, again.status_reason]).toEqual(["pending_authorization", null]);
    expect((await emandate.read(id)).order_no).not.toBe(first.order_no);
  });
});

describe("in force", () => {
  test("the first collection is two working days after activation, at midnight in Kuala Lumpur", async () => {
    const { id } = await emandate.mandate("Ahmad", { bankscheme_txn_amount: "50.00" });
    await emandate.act(id, "authorize");
    await emandate.scenario("mandate_authorized", { mandate_id: id });
    await emandate.scenario("mandate_activated", { mandate_id: id });
    const mandate = await emandate.read(id);
    expect(mandate.next_collection_at).toBe("2026-03-11T16:00:00.000Z");
    expect(mandate.scheme_reference).toBe(`SANDBOX-${mandate.order_no}`);
    // Without an amount nothing is collected by itself.
    expect((await emandate.mandateIn("active")).next_collection_at).toBeNull();
  });

  test("suspending keeps payments waiting, terminating cancels them", async () => {
    const { id } = await emandate.mandateIn("active");
    const later = { amount: "10.00", due_date: "2026-04-01" };
    const made = await emandate.service.api("POST", `/emandate/mandates/${id}/payments`, later);
    expect(made.status).toBe(201);
    const status = async () => (await emandate.read(id)).payments[0].status;
    await emandate.act(id, "suspend", { reason: "Holiday" });
    expect([(await emandate.read(id)).status_reason, await status()]).toEqual(["Holiday", "scheduled"]);
    await emandate.act(id, "resume");
    expect((await emandate.read(id)).status_reason).toBeNull();
    await emandate.act(id, "terminate", { reason: "Moved away" });
    const ending = await emandate.read(id);
    expect(ending).toMatchObject({
      status: "pending_termination",
      application_type: "03",
      status_reason: "Moved away",
    });
    expect(await status()).toBe("cancelled");
    await emandate.pass({ seconds: 4 });
    const ended = await emandate.read(id);
    expect([ended.status, ended.terminated_at, ended.next_collection_at]).toEqual([
      "terminated",
      emandate.clock.now().toString({ smallestUnit: "millisecond" }),
      null,
    ]);
    expect(types(ended).slice(0, 2)).toEqual(["terminated", "pending_termination"]);
  });

  test.each([
    [{}],
    [{ "content-type": "application/json" }],
    [{ "content-type": "application/json", "idempotency-key": "a" }],
  ])("an action needs no body: headers %p", async (headers) => {
    const { id } = await emandate.mandateIn("active");
    const path = `/emandate/mandates/${id}/suspend`;
    expect((await emandate.service.api("POST", path, undefined, headers)).status).toBe(200);
    const empty = { "content-type": "application/json" };
    const resumed = await emandate.service.api("POST", `/emandate/mandates/${id}/resume`, "", empty);
    expect([resumed.status, resumed.body.data?.status]).toEqual([200, "active"]);
  });

  test("of 20 terminations at once one wins", async () => {
    const { id } = await emandate.mandateIn("active");
    const path = `/emandate/mandates/${id}/terminate`;
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => emandate.service.api("POST", path, {})),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200,
      ...Array(19).fill(409),
    ]);
  });

  test("an amendment holds once the bank took it; one at a time", async () => {
    const { id } = await emandate.mandate("Ahmad", { bankscheme_txn_amount: "50.00" });
    for (const step of ["mandate_authorized", "mandate_activated"]) {
      if (step === "mandate_authorized") await emandate.act(id, "authorize");
      await emandate.scenario(step, { mandate_id: id });
    }
    const change = { amount: "40000.00" };
    expect((await emandate.service.api("POST", `/emandate/mandates/${id}/amend`, change)).status).toBe(422);
    const asked = await emandate.act(id, "amend", { amount: "70.00", expiry_date: "2026-12-31" }, 202);
    expect(asked).toMatchObject({
      bankscheme_txn_amount: "50.00",
      amendment: { amount: "70.00", expiry_date: "2026-12-31" },
      application_type: "02",
    });
    await emandate.act(id, "amend", { amount: "80.00" }, 409);
    await emandate.pass({ seconds: 4 });
    expect(await emandate.read(id)).toMatchObject({
      status: "active",
      bankscheme_txn_amount: "70.00",
      max_amount: "30000.00",
      expiry_date: "2026-12-31",
      amendment: null,
    });
  });

  test("a mandate that was collected for the last time goes on when its last day is put off", async () => {
    const own = await openEmandateFixture("2026-03-10T04:00:00Z");
    try {
      const { id } = await own.mandate("Ahmad", { bankscheme_txn_amount: "50.00" });
      await own.act(id, "authorize");
      for (const step of ["mandate_authorized", "mandate_activated"]) {
        await own.scenario(step, { mandate_id: id });
      }
      const until = async (expiry_date: string) => {
        await own.act(id, "amend", { expiry_date }, 202);
        await own.pass({ seconds: 3 });
        return (await own.read(id)).next_collection_at;
      };
      expect(await until("2026-03-31")).toBe("2026-03-11T16:00:00.000Z");
      const run = await own.service.api("POST", "/emandate/collections/run", { date: "2026-03-12" });
      expect([run.status, run.body.data.counts.submitted]).toEqual([202, 1]);
      expect((await own.read(id)).next_collection_at).toBeNull();
      // March has been collected: the same day once more makes no second debit of it.
      expect(await until("2026-12-31")).toBe("2026-03-11T16:00:00.000Z");
      await own.service.api("POST", "/emandate/collections/run", { date: "2026-03-12" });
      const after = await own.read(id);
      expect([after.next_collection_at, after.payments.length]).toEqual(["2026-04-11T16:00:00.000Z", 1]);
    } finally {
      await own.service.stop();
    }
  });

  test("a mandate that was debited by hand is collected once an amount is agreed", async () => {
    const { id } = await emandate.mandateIn("active");
    await emandate.act(id, "amend", { amount: "25.00" }, 202);
    await emandate.pass({ seconds: 4 });
    expect(await emandate.read(id)).toMatchObject({
      bankscheme_txn_amount: "25.00",
      next_collection_at: "2026-03-11T16:00:00.000Z",
    });
  });

  test.each([
    [{}, ""],
    [{ amount: 5 }, "/amount"],
    [{ frequency: "monthly" }, "/frequency"],
    [{ expiry_date: "2026-02-30" }, "/expiry_date"],
    [{ expiry_date: "2026-03-09" }, "/expiry_date"],
    [{ expiry_date: "2226-03-10" }, "/expiry_date"],
    [{ max_amount: "5.00" }, "/max_amount"],
  ])("refuses the amendment %p", async (change, path) => {
    const { id } = await emandate.mandateIn("active");
    const { status, body } = await emandate.service.api("POST", `/emandate/mandates/${id}/amend`, change);
    expect([status, body.details[0].path]).toEqual([422, path]);
  });

  test.each([[""], ["  "], ["x".repeat(201)], [7]])("refuses the reason %p", async (reason) => {
    const { id } = await emandate.mandateIn("active");
    const { status } = await emandate.service.api("POST", `/emandate/mandates/${id}/suspend`, { reason });
    expect([status, (await emandate.read(id)).status]).toEqual([422, "active"]);
  });

  test("a mandate ends with its last day in Kuala Lumpur, suspended ones too", async () => {
    const own = await openEmandateFixture("2026-03-10T04:00:00Z");
    try {
      const [active, suspended] = [await own.mandateIn("active"), await own.mandateIn("suspended")];
      for (const { id } of [active, suspended]) {
        await own.act(id, "amend", { expiry_date: "2026-03-10" }, 202);
      }
      await own.pass({ seconds: 3 });
      const statuses = async () => [
        (await own.read(active.id)).status,
        (await own.read(suspended.id)).status,
      ];
      await own.pass({ hours: 11, minutes: 59 });
      expect(await statuses()).toEqual(["active", "suspended"]);
      await own.pass({ minutes: 1 });
      expect(await statuses()).toEqual(["expired", "expired"]);
      // A second look changes nothing.
      await own.pass({ minutes: 1 });
      expect(types(await own.read(active.id)).filter((type: string) => type === "expired")).toHaveLength(1);
    } finally {
      await own.service.stop();
    }
  });
});

test("the audit log tells who acted on which mandate, and no IC number", async () => {
  const made = await emandate.mandate("Siti", { customer_ic_number: "900131145678" });
  await emandate.act(made.id, "authorize");
  const { body } = await emandate.service.api("GET", `/audit-log?target_type=mandate&target_id=${made.id}`);
  expect(body.data.map(({ operation }: Json) => operation)).toEqual(["authorize_mandate", "create_mandate"]);
  expect(JSON.stringify(body)).not.toContain("900131145678");
});
