import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { LIMITS } from "../../../src/emandate/limits.ts";
import { LIMITS as HTTP_LIMITS } from "../../../src/http/limits.ts";
import { type Answer, type Service, type Json, startService, TestClock } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { openStandIn, type StandIn } from "../scheme/fake_fpx.ts";
import { type EmandateFixture, emandateFixtureOf } from "../mandates/fixtures.ts";
import { schemeCallbackTable } from "../../../src/emandate/results/tables.ts";

const IDS = { exchange_id: "EX00000001", seller_id: "SE00000001" };
// The scheme's certificate is of today.
const clock = new TestClock(Temporal.Now.instant().add({ minutes: 1 }).round("millisecond").toString());
let scheme: StandIn;
let service: Service;
let emandate: EmandateFixture;
/** A mandate that awaits its authorization, and its order. */
let mandate: Json;
let order_no: string;

beforeAll(async () => {
  scheme = openStandIn();
  const env = { SECRETS_KEY: randomBytes(32).toString("hex"), FPX_URL: scheme.url };
  service = await startService({ clock, env: { ...env, NODE_ENV: "test" } });
  emandate = emandateFixtureOf(service, clock);
  const config = {
    ...IDS,
    scheme_certificate_pem: scheme.scheme.certificate_pem,
    private_key_pem: scheme.seller_key_pem,
    return_url: "https://shop.example.com/thanks?from=bank",
  };
  expect((await service.api("PUT", "/emandate/config", config)).status).toBe(200);
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
});
beforeEach(async () => {
  expect((await service.api("PUT", "/emandate/config", { connector: "fpx" })).status).toBe(200);
  const { id } = await emandate.mandate();
  await emandate.act(id, "authorize", { bank_code: "MB2U0227" });
  mandate = await emandate.read(id);
  order_no = mandate.order_no;
  expect((await service.api("PUT", "/emandate/config", { connector: "sandbox" })).status).toBe(200);
});

const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** What the scheme says of the order, signed, but for these fields. */
const confirmation = (other: Record<string, string> = {}) => {
  const sent = {
    fpx_sellerExId: IDS.exchange_id,
    fpx_sellerId: IDS.seller_id,
    fpx_sellerExOrderNo: order_no,
    fpx_txnAmount: "1.00",
    fpx_txnCurrency: "MYR",
  };
  return new URLSearchParams(scheme.confirmation(sent, other)).toString();
};

const post = (body: string, headers: Record<string, string> = FORM): Promise<Answer> =>
  service.anonymous("POST", "/emandate/callbacks/fpx", body, headers);

/** What was written down of callbacks, the last first. */
async function written(): Promise<Json[]> {
  const t = service.deps.store.read.use(schemeCallbackTable);
  const rows = await service.deps.store.read.select().from(t);
  return rows.toSorted((a, b) => b.id - a.id);
}

const status = async () => (await emandate.read(mandate.id)).status;

describe("a callback", () => {
  test("that is good is answered OK and applied, once however often it comes", async () => {
    const body = confirmation();
    const first = await post(body);
    expect([first.status, first.body]).toEqual([200, "OK"]);
    expect(await status()).toBe("pending_approval");
    const after = await emandate.read(mandate.id);
    for (let i = 0; i < 3; i++)
      expect([(await post(body)).status, (await post(body)).body]).toEqual([200, "OK"]);
    expect(await emandate.read(mandate.id)).toEqual(after);
    const [last] = await written();
    expect(last).toMatchObject({ order_no, outcome: "repeated", company_id: service.company_id });
    const audit = await service.api("GET", "/audit-log?operation=apply_scheme_answer");
    expect(audit.body.data).toMatchObject([
      {
        actor: { kind: "system" },
        origin: "rest",
        address: expect.any(String),
        target: { type: "mandate", id: mandate.id },
        input: { order_no, response_code: "00" },
      },
    ]);
    expect(
      (await written()).filter((row) => row.order_no === order_no && row.outcome === "applied"),
    ).toHaveLength(1);
  });

  test("that is sent again and again is written down so often and no more, whatever is put beside it", async () => {
    const ofOrder = async () => (await written()).filter((row) => row.order_no === order_no);
    const wrong = confirmation({ txnAmount: "2.00" });
    for (let i = 0; i < 30; i++) expect((await post(wrong)).status).toBe(400);
    for (let i = 0; i < 30; i++) expect((await post(confirmation())).status).toBe(200);
    expect(await status()).toBe("pending_approval");
    for (const body of [`${confirmation()}&beside=1`, wrong]) await post(body);
    const rows = await ofOrder();
    expect(rows).toHaveLength(LIMITS.scheme_callbacks_order);
    expect(rows.filter(({ outcome }) => outcome === "applied")).toHaveLength(1);
  });

  test("of 20 at once has one effect", async () => {
    const body = confirmation();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(body)));
    expect(new Set(answers.map(({ status: code }) => code))).toEqual(new Set([200]));
    expect(
      (await written()).filter((row) => row.order_no === order_no && row.outcome === "applied"),
    ).toHaveLength(1);
  });

  test("that declines fails the mandate; one that says the contrary later counts", async () => {
    expect((await post(confirmation({ debitAuthCode: "1C" }))).status).toBe(200);
    const failed = await emandate.read(mandate.id);
    expect([failed.status, failed.status_reason]).toEqual(["failed", expect.any(String)]);
    expect([(await post(confirmation())).body, await status()]).toEqual(["OK", "pending_approval"]);
    expect((await written())[0]).toMatchObject({ outcome: "applied" });
  });

  test("on a mandate that was cancelled is answered OK and changes nothing; somebody is to look, once", async () => {
    await emandate.act(mandate.id, "cancel");
    for (const [fpxTxnId, outcome] of [
      ["1", "flagged"],
      ["2", "repeated"],
    ] as const) {
      const answer = await post(confirmation({ fpxTxnId }));
      expect([answer.body, await status()]).toEqual(["OK", "cancelled"]);
      expect((await written())[0]).toMatchObject({ order_no, outcome });
    }
    const { body } = await service.api("GET", `/emandate/flags?mandate_id=${mandate.id}`);
    expect(body.data).toMatchObject([{ reason: "confirmed_too_late", payment_id: null, order_no }]);
  });

  test("that says pending changes nothing", async () => {
    expect((await post(confirmation({ debitAuthCode: "09" }))).body).toBe("OK");
    expect(await status()).toBe("pending_authorization");
  });

  test("with a bad signature is a 400, whatever order it names", async () => {
    for (const body of [
      confirmation().replace("debitAuthCode=00", "debitAuthCode=51"),
      confirmation().replace(order_no, "NOBODYS"),
      `fpx_sellerExOrderNo=${order_no}`,
      "",
    ]) {
      expect((await post(body)).status).toBe(400);
      expect((await written())[0]).toMatchObject({ outcome: "refused", order_no: null, company_id: null });
    }
    expect(await status()).toBe("pending_authorization");
  });

  test("about an unknown order is a 404, about another amount a 400", async () => {
    const known = order_no;
    order_no = "NOBODYS";
    expect((await post(confirmation())).status).toBe(404);
    order_no = known;
    expect((await post(confirmation({ txnAmount: "2.00" }))).status).toBe(400);
    expect((await written())[0]).toMatchObject({ outcome: "refused", order_no });
    expect(await status()).toBe("pending_authorization");
  });

  test("about another company's order is a 404, however well it is signed", async () => {
    const other = await service.addTenant();
    const customer = { customer_name: "Ahmad", customer_email: "a@example.com" };
    const made = await other.api("POST", "/emandate/mandates", customer);
    const path = `/emandate/mandates/${made.body.data.id}`;
    await other.api("POST", `${path}/authorize`, {});
    order_no = (await other.api("GET", path)).body.data.order_no;
    expect((await post(confirmation())).status).toBe(404);
    expect((await other.api("GET", path)).body.data.status).toBe("pending_authorization");
  });

  test("about an order of the sandbox is a 404: FPX knows of none", async () => {
    ({ order_no } = await emandate.mandateIn("pending_authorization"));
    const { status: code, body } = await post(confirmation());
    expect([code, body]).toMatchObject([404, { error: `Order ${order_no} not found` }]);
    expect((await emandate.read(mandate.id)).status).toBe("pending_authorization");
  });

  test("of another kind or size is refused before it is read", async () => {
    expect((await post("{}", { "content-type": "application/json" })).status).toBe(415);
    expect((await post(`a=${"x".repeat(HTTP_LIMITS.open_body_bytes)}`)).status).toBe(413);
    expect((await post("a=%00")).status).toBe(422);
  });

  test("that is nobody's is forgotten after a week, and written down so often and no more", async () => {
    const now = clock.now();
    await post("");
    const [last] = await written();
    const { id: _, ...row } = last;
    const t = service.deps.store.read.use(schemeCallbackTable);
    const missing =
      LIMITS.scheme_callbacks_unmatched - (await written()).filter((one) => one.company_id === null).length;
    for (let left = missing; left > 0; left -= 500) {
      const rows = Array.from({ length: Math.min(left, 500) }, () => row);
      await service.deps.store.tx((q) => q.insert(t).values(rows));
    }
    const before = (await written()).length;
    expect((await post("")).status).toBe(400);
    expect((await written()).length).toBe(before);
    // The scheme's own are written down all the same.
    expect((await post(confirmation())).status).toBe(200);
    expect((await written()).length).toBe(before + 1);
    clock.set(now.add({ hours: 24 * 7 + 1 }).toString());
    await runNamedJob(service, "scheme_callbacks_prune");
    clock.set(now.toString());
    const left = await written();
    expect(left.length).toBeGreaterThan(0);
    expect(left.every((one) => one.company_id !== null)).toBe(true);
  });

  test("is forgotten after 400 days", async () => {
    await post("");
    const now = clock.now();
    await runNamedJob(service, "scheme_callbacks_prune");
    expect(await written()).not.toEqual([]);
    clock.set(now.add({ hours: 24 * 400 + 1 }).toString());
    await runNamedJob(service, "scheme_callbacks_prune");
    clock.set(now.toString());
    expect(await written()).toEqual([]);
  });
});

describe("the browser's return", () => {
  const comeBack = (body: string) => service.anonymous("POST", "/emandate/callbacks/fpx/return", body, FORM);

  const shop = () => `https://shop.example.com/thanks?from=bank&order_no=${order_no}`;

  test("leads to the company's own address, and changes nothing", async () => {
    const before = await emandate.read(mandate.id);
    const { status: code, headers } = await comeBack(`${confirmation()}&return_url=https://evil.example`);
    expect([code, headers.get("location")]).toEqual([303, shop()]);
    expect(await emandate.read(mandate.id)).toEqual(before);
  });

  test("without the scheme's signature tells nothing of orders", async () => {
    const bodies = [
      `fpx_sellerExOrderNo=${order_no}`,
      "fpx_sellerExOrderNo=NOBODYS",
      confirmation().replace(order_no, "NOBODYS"),
      confirmation().replace(/fpx_checkSum=[^&]+/, "fpx_checkSum=00"),
      confirmation().replace("1.00", "2.00"),
      "",
    ];
    for (const body of bodies) {
      const { status: code, headers, body: shown } = await comeBack(body);
      expect([code, headers.get("location")], body).toEqual([200, null]);
      expect(shown).toContain("You are back from your bank");
    }
  });

  test("without a return_url shows a page, the same for every order and for what is none", async () => {
    const plain = await service.api("PUT", "/emandate/config", { return_url: null });
    expect(plain.status).toBe(200);
    const bodies = [
      `fpx_sellerExOrderNo=${order_no}`,
      "fpx_sellerExOrderNo=NOBODYS",
      "fpx_sellerExOrderNo=//evil.example",
      "",
    ];
    const pages = [];
    for (const body of bodies) pages.push(await comeBack(body));
    const return_url = "https://shop.example.com/thanks?from=bank";
    expect((await service.api("PUT", "/emandate/config", { return_url })).status).toBe(200);
    for (const { status: code, headers, body } of pages) {
      expect([code, headers.get("content-type"), headers.get("x-frame-options")]).toEqual([
        200,
        "text/html; charset=utf-8",
        "DENY",
      ]);
      expect(body).toContain("You are back from your bank");
      expect(body).toBe(pages[0]?.body);
    }
    // Of an order that is nobody's, or no order at all, no more is told where the company has an address.
    expect((await comeBack("fpx_sellerExOrderNo=NOBODYS")).body).toBe(pages[0]?.body);
  });
});

test("calls are counted by address", async () => {
  const own = await startService({ env: { RATE_LIMIT_ENABLED: "true" } });
  try {
    const codes = new Set<number>();
    for (let i = 0; i <= LIMITS.scheme_callbacks_minute * 2 && !codes.has(429); i++) {
      codes.add((await own.anonymous("POST", "/emandate/callbacks/fpx", "", FORM)).status);
    }
    expect(codes).toEqual(new Set([400, 429]));
  } finally {
    await own.stop();
  }
});

describe("with FPX", () => {
  test("the bank must be named, the page posts the signed form, and an enquiry tells what became of it", async () => {
    const { status: code } = await service.api("PUT", "/emandate/config", { connector: "fpx" });
    expect(code).toBe(200);
    const { id } = await emandate.mandate("Ahmad <bin> Ali");
    await emandate.act(id, "authorize", {}, 422);
    const { authorization_url } = await emandate.act(id, "authorize", { bank_code: "MB2U0227" });
    const page = await service.anonymous("GET", new URL(authorization_url).pathname.replace("/api/v1", ""));
    expect(page.status).toBe(200);
    expect(page.body).toContain(`action="${scheme.url}/FPXMain/seller2DReceiver.jsp"`);
    expect(page.body).toContain("fpx_checkSum");
    expect(page.body).not.toContain("<bin>");
    await emandate.scenario("mandate_authorized", { mandate_id: id }, 409);
    await emandate.pass({ minutes: 5 });
    const asked = await emandate.read(id);
    expect(asked.status).toBe("pending_approval");
    // What the bank decides comes by file, as often as it likes.
    const csv = (rows: string[]) => ["order_no,amount,response_code", ...rows].join("\r\n");
    const send = async (file: string, by = service.api) => {
      const type = { "content-type": "text/csv" };
      return by("POST", "/emandate/mandates/results", file, type);
    };
    const file = csv([`${asked.order_no},1.00,00`, "NOBODYS,1.00,00", `${order_no},2.00,00`]);
    const other = await service.addTenant();
    const theirs = await send(csv([`${asked.order_no},1.00,92`]), other.api);
    expect(theirs.body.data).toMatchObject({ applied: 0, rejected: 1 });
    expect((await send(file)).body.data).toMatchObject({ applied: 1, unchanged: 0, rejected: 2 });
    expect((await emandate.read(id)).status).toBe("active");
    expect((await send(file)).body.data).toMatchObject({ applied: 0, unchanged: 1, rejected: 2 });
    expect((await send("no,columns")).status).toBe(422);
    await service.api("PUT", "/emandate/config", { connector: "sandbox" });
  });
});

test("scenarios refuse what they are not about", async () => {
  const run = async (name: string, subject: object) => {
    const answer = await service.api("POST", `/emandate/simulator/scenarios/${name}/run`, subject);
    return [answer.status, answer.body.details?.[0]?.path];
  };
  const { id: mandate_id } = mandate;
  expect(await run("nothing_happens", { mandate_id })).toEqual([404, undefined]);
  expect(await run("toString", { mandate_id })).toEqual([404, undefined]);
  expect(await run("mandate_activated", {})).toEqual([422, "/mandate_id"]);
  expect(await run("mandate_activated", { payment_id: 1 })).toEqual([422, "/payment_id"]);
  expect(await run("payment_paid", { mandate_id })).toEqual([422, "/mandate_id"]);
  expect(await run("payment_paid", { payment_id: 999_999 })).toEqual([422, "/payment_id"]);
  expect(await run("mandate_activated", { mandate_id: 999_999 })).toEqual([422, "/mandate_id"]);
  expect(await run("mandate_activated", { mandate_id, payment_id: 1 })).toEqual([422, "/payment_id"]);
  expect(await run("mandate_activated", { mandate_id, now: true })).toEqual([422, "/now"]);
});
