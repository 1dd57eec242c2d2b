import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import { type Service, type Json, startService, TestClock } from "../../support/harness.ts";
import { openStandIn, type StandIn, written } from "../scheme/fake_fpx.ts";
import { type EmandateFixture, emandateFixtureOf } from "../mandates/fixtures.ts";

// What FPX says that is about our messages, or comes late, and what a mandate makes of it.

// The scheme's certificate is of today.
const BEGUN = Temporal.Now.instant().add({ minutes: 1 }).round("millisecond").toString();
const IDS = { exchange_id: "EX00000001", seller_id: "SE00000001" };
const clock = new TestClock(BEGUN);
let scheme: StandIn;
let service: Service;
let emandate: EmandateFixture;
/** A mandate at FPX that awaits its customer. */
let mandate: Json;

beforeAll(async () => {
  scheme = openStandIn();
  const env = { SECRETS_KEY: randomBytes(32).toString("hex"), FPX_URL: scheme.url, NODE_ENV: "test" };
  service = await startService({ clock, env });
  emandate = emandateFixtureOf(service, clock);
  const config = {
    ...IDS,
    scheme_certificate_pem: scheme.scheme.certificate_pem,
    private_key_pem: scheme.seller_key_pem,
    connector: "fpx",
  };
  expect((await service.api("PUT", "/emandate/config", config)).status).toBe(200);
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
});
beforeEach(async () => {
  clock.set(BEGUN);
  service.api = await service.signIn(service.admin_email);
  await closeOthers();
  scheme.answerStatus(null);
  const { id } = await emandate.mandate();
  mandate = await emandate.act(id, "authorize", { bank_code: "MB2U0227" });
});

/** Nobody asks for the orders of tests before, and what they flagged is decided. */
async function closeOthers(): Promise<void> {
  const { store } = service.deps;
  await store.tx(async (q) => {
    await q.update(q.use(mandateOrderTable)).set({ next_query_at: null });
  });
  for (const { id } of await flags("status=open")) {
    await service.api("POST", `/emandate/flags/${id}/resolve`, { note: "Another test's" });
  }
}

const flags = async (query = `mandate_id=${mandate.id}`): Promise<Json[]> =>
  (await service.api("GET", `/emandate/flags?limit=100&${query}`)).body.data;

/** AE is answered so from now on. */
const say = (debitAuthCode: string) =>
  scheme.answerStatus(({ fields }) => new Response(written(scheme.confirmation(fields, { debitAuthCode }))));
const read = async () => {
  service.api = await service.signIn(service.admin_email);
  return emandate.read(mandate.id);
};
const status = async () => (await read()).status;

/** The scheme calls back about the mandate's last order. */
async function callBack(other: Record<string, string>): Promise<void> {
  const { order_no } = await read();
  const sent = {
    fpx_sellerExId: IDS.exchange_id,
    fpx_sellerId: IDS.seller_id,
    fpx_sellerExOrderNo: order_no,
    fpx_txnAmount: "1.00",
    fpx_txnCurrency: "MYR",
  };
  const body = new URLSearchParams(scheme.confirmation(sent, other)).toString();
  const type = { "content-type": "application/x-www-form-urlencoded" };
  expect((await service.anonymous("POST", "/emandate/callbacks/fpx", body, type)).status).toBe(200);
}

/** The bank's file says one thing of an order; returns how many lines were applied and flagged. */
async function file(order_no: string, line: string): Promise<[number, number, number]> {
  const csv = `order_no,amount,response_code,ended_by\r\n${order_no},1.00,${line}\r\n`;
  const type = { "content-type": "text/csv" };
  const { body } = await service.api("POST", "/emandate/mandates/results", csv, type);
  return [body.data.applied, body.data.flagged, body.data.rejected];
}

async function activate(): Promise<Json> {
  await callBack({});
  const { order_no } = await read();
  expect(await file(order_no, "00,")).toEqual([1, 0, 0]);
  expect(await status()).toBe("active");
  return read();
}

describe("an enquiry that FPX complains about", () => {
  test.each(["98", "78", "30", "46", "XB", "XE", "XI", "XS", "XW", "03", "05", "20"])(
    "with %s leaves the mandate as it was, is flagged, and asked again until there is an answer",
    async (code) => {
      say(code);
      await emandate.pass({ minutes: 5 });
      await emandate.pass({ minutes: 10 });
      expect(await status()).toBe("pending_authorization");
      expect(await flags()).toMatchObject([
        { reason: "message_refused", response_code: code, status: "open" },
      ]);
      scheme.answerStatus(null);
      await emandate.pass({ minutes: 45 });
      expect(await status()).toBe("pending_approval");
      expect(await flags()).toMatchObject([{ status: "resolved", resolved_by: null }]);
    },
  );

  test("for two days long fails nobody: the mandate is flagged as unanswered, once for all of them", async () => {
    const other = await emandate.mandate();
    await emandate.act(other.id, "authorize", { bank_code: "MB2U0227" });
    say("98");
    for (let hour = 0; hour <= 49; hour++) await emandate.pass({ hours: 1 });
    expect(await status()).toBe("pending_authorization");
    expect((await flags("reason=message_refused&status=open")).length).toBe(1);
    expect((await flags("reason=no_answer&status=open")).length).toBe(2);
    await callBack({});
    expect(await status()).toBe("pending_approval");
  });

  test.each(["45", "XN", "OE", "FE", "96"])("with %s is asked again, and says nothing else", async (code) => {
    say(code);
    await emandate.pass({ minutes: 5 });
    expect(await status()).toBe("pending_authorization");
    expect(await flags()).toEqual([]);
    scheme.answerStatus(null);
    await emandate.pass({ minutes: 10 });
    expect(await status()).toBe("pending_approval");
  });
});

describe("a day without an answer", () => {
  test("ends the wait for a customer of whom FPX knows nothing; one who comes later counts", async () => {
    say("76");
    for (const hours of [23, 2]) await emandate.pass({ hours });
    expect(await read()).toMatchObject({ status: "failed", status_reason: "Not authorized within 24 hours" });
    await callBack({});
    expect(await status()).toBe("pending_approval");
    expect(await file(mandate.order_no ?? (await read()).order_no, "00,")).toEqual([1, 0, 0]);
    expect(await status()).toBe("active");
  });

  test("is not one where a checker still has to agree, nor where FPX can't be asked", async () => {
    say("99");
    for (const hours of [20, 5]) await emandate.pass({ hours });
    expect(await status()).toBe("pending_authorization");
    scheme.answerStatus(() => new Response("", { status: 502 }));
    await emandate.pass({ hours: 20 });
    expect(await status()).toBe("pending_authorization");
    scheme.answerStatus(null);
    await emandate.pass({ hours: 1 });
    expect(await status()).toBe("pending_approval");
  });
});

describe("a second tab", () => {
  test("is a duplicate to FPX, and the first one goes on", async () => {
    await callBack({ debitAuthCode: "45" });
    expect(await status()).toBe("pending_authorization");
    await callBack({});
    expect(await status()).toBe("pending_approval");
    await callBack({ debitAuthCode: "1C" });
    expect(await status()).toBe("pending_approval");
    expect(await flags()).toEqual([]);
  });

  test("that was closed does not end what the first one brings about", async () => {
    await callBack({ debitAuthCode: "1C" });
    expect(await status()).toBe("failed");
    await callBack({});
    expect(await status()).toBe("pending_approval");
  });

  test("of an authorization that was asked for again is flagged: the customer may have agreed twice", async () => {
    const { order_no: first } = await read();
    await callBack({ debitAuthCode: "1C" });
    await emandate.act(mandate.id, "authorize", {});
    expect(await file(first, "00,")).toEqual([0, 1, 0]);
    expect(await status()).toBe("pending_authorization");
    expect(await flags()).toMatchObject([{ reason: "confirmed_too_late", order_no: first }]);
  });
});

describe("a decision that contradicts the one before", () => {
  test("is flagged, whichever it is", async () => {
    const { order_no } = await activate();
    expect(await file(order_no, "92,")).toEqual([0, 1, 0]);
    expect(await status()).toBe("active");
    expect(await flags()).toMatchObject([{ reason: "refused_too_late", response_code: "92" }]);
    const { id } = await emandate.mandate();
    mandate = await emandate.act(id, "authorize", { bank_code: "MB2U0227" });
    await callBack({});
    const { order_no: other } = await read();
    expect(await file(other, "92,")).toEqual([1, 0, 0]);
    await callBack({ fpxTxnId: "2" });
    expect(await flags()).toEqual([]);
    expect(await file(other, "00,")).toEqual([0, 1, 0]);
    expect(await read()).toMatchObject({ status: "rejected" });
    expect(await flags()).toMatchObject([{ reason: "confirmed_too_late" }]);
  });
});

describe("an end by the bank or the customer", () => {
  test.each([
    ["bank", "Ended by the bank"],
    ["customer", "Ended by the customer at the bank"],
  ])("comes by file: by the %s", async (who, reason) => {
    const { order_no } = await activate();
    expect(await file(order_no, `00,${who}`)).toEqual([1, 0, 0]);
    expect(await read()).toMatchObject({ status: "terminated", status_reason: reason });
    expect(await file(order_no, `00,${who}`)).toEqual([0, 0, 0]);
  });

  test.each([
    ["00,nobody", "ended_by must be bank, customer or empty"],
    ["53,bank", "ended_by goes with the response_code 00, and without charged_back"],
  ])("in the file %s is refused", async (line, reason) => {
    const { order_no } = await activate();
    const csv = `order_no,amount,response_code,ended_by\r\n${order_no},1.00,${line}\r\n`;
    const type = { "content-type": "text/csv" };
    const { body } = await service.api("POST", "/emandate/mandates/results", csv, type);
    expect(body.data.rejections).toEqual([{ line: 2, reason }]);
    expect(await status()).toBe("active");
  });

  test("comes by callback, with the application type 03 of an order that asked for no end", async () => {
    await activate();
    await callBack({ buyerIban: "03,,1,MT,211126," });
    expect(await read()).toMatchObject({ status: "terminated" });
  });
});

describe("what nobody confirms", () => {
  test("is given up after two days: the mandate stands as before; an answer that comes later counts", async () => {
    await activate();
    await emandate.act(mandate.id, "terminate");
    say("76");
    for (let hour = 0; hour <= 48; hour++) await emandate.pass({ hours: 1 });
    const { status: now, status_reason, events, order_no } = await read();
    expect([now, status_reason]).toEqual(["active", "Not confirmed within 48 hours"]);
    expect(events[0].type).toBe("emandate.mandate.termination_refused");
    expect(await file(order_no, "00,")).toEqual([1, 0, 0]);
    expect(await read()).toMatchObject({ status: "terminated", status_reason: "Ended as requested" });
  });

  test("can be withdrawn: an end and a change, each once", async () => {
    await activate();
    await emandate.act(mandate.id, "amend", { amount: "42.00" }, 202);
    const { order_no: change } = await read();
    await emandate.act(mandate.id, "terminate");
    const { order_no: end } = await read();
    expect(await emandate.act(mandate.id, "withdraw", { reason: "Stays" })).toMatchObject({
      status: "active",
      status_reason: "Stays",
      amendment: { amount: "42.00" },
    });
    expect(await emandate.act(mandate.id, "withdraw")).toMatchObject({ status: "active", amendment: null });
    await emandate.act(mandate.id, "withdraw", {}, 409);
    expect((await read()).events.slice(0, 2).map(({ type }: Json) => type)).toEqual([
      "emandate.mandate.amendment_withdrawn",
      "emandate.mandate.termination_withdrawn",
    ]);
    expect((await service.anonymous("GET", `/emandate/authorizations/${end}`)).status).toBe(404);
    // The bank had taken both all the same: the change is not the last word, the end is.
    expect(await file(change, "00,")).toEqual([0, 1, 0]);
    expect(await file(end, "00,")).toEqual([1, 0, 0]);
    expect(await status()).toBe("terminated");
  });

  test("a change that is confirmed after it was withdrawn holds", async () => {
    await activate();
    await emandate.act(mandate.id, "amend", { amount: "42.00" }, 202);
    const { order_no } = await emandate.read(mandate.id);
    await emandate.act(mandate.id, "withdraw");
    expect(await file(order_no, "00,")).toEqual([1, 0, 0]);
    expect(await read()).toMatchObject({ bankscheme_txn_amount: "42.00", amendment: null });
  });
});
