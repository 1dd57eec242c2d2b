import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { fpx } from "../../../src/emandate/scheme/fpx.ts";
import { signMessage } from "../../../src/emandate/scheme/fpx_messages.ts";
import type { SchemeConnector } from "../../../src/emandate/scheme/connector.ts";
import { makeIdentity } from "../../support/certificates.ts";
import { describeConnector } from "./conformance.ts";
import { debit, order } from "./fixtures.ts";
import { bankList, openStandIn, type StandIn, written } from "./fake_fpx.ts";

const NOW = Temporal.Now.instant().add({ minutes: 1 });
let scheme: StandIn;
let connector: SchemeConnector;

beforeAll(() => {
  scheme = openStandIn();
  connector = fpx(scheme.account, { timeout_ms: 500 });
});
afterEach(() => {
  scheme.answerStatus(null);
  scheme.answerBanks(null);
  scheme.requests.length = 0;
});
afterAll(() => scheme.stop());

// The suite's clock stands in the certificate's days.
describeConnector("fpx", () => ({
  ...connector,
  listBanks: () => connector.listBanks(NOW),
  queryStatus: (orders) => connector.queryStatus(orders, NOW),
  parseCallback: (raw_body) => connector.parseCallback(raw_body, NOW),
}));

const statusOf = async (asked = order()) => (await connector.queryStatus([asked], NOW)).get(asked.order_no);

describe("asking FPX how an order stands", () => {
  test("sends AE once, signed, with what AD said", async () => {
    const form = connector.authorizationForm(order());
    expect(await statusOf()).toEqual({
      status: "ok",
      code: "00",
      message: "Approved",
      is_retriable: false,
      scheme_txn_id: "1708171401020085",
      answers: "first",
    });
    expect(scheme.requests.map(({ path }) => path)).toEqual(["/FPXMain/sellerNVPTxnStatus.jsp"]);
    const { fpx_checkSum: _, fpx_msgType: type, ...sent } = scheme.requests[0]?.fields ?? {};
    expect(type).toBe("AE");
    expect(form?.fields).toMatchObject(sent);
  });

  test.each([
    ["80", "failed", false],
    ["1C", "failed", false],
    ["51", "failed", true],
    ["09", "pending", false],
    ["99", "pending", false],
    // About the enquiry: nothing that became of the order.
    ["98", "failed", false],
    ["45", "pending", false],
    // The system was down, for this enquiry or for the customer.
    ["OE", "pending", false],
    ["FE", "pending", false],
    // The customer may still be on the way to the bank.
    ["76", "pending", false],
    ["ZZ", "pending", false],
  ] as const)("%s is %s", async (debitAuthCode, status, is_retriable) => {
    scheme.answerStatus(
      ({ fields }) => new Response(written(scheme.confirmation(fields, { debitAuthCode }))),
    );
    expect(await statusOf()).toMatchObject({ status, is_retriable });
  });

  const stranger = makeIdentity();
  test.each<
    [what: string, answer: (sent: Record<string, string>) => Response | Promise<Response>, why: string]
  >([
    ["an error in words", () => new Response("PROCESSING ERROR"), "checksum"],
    ["nothing", () => new Response(""), "checksum"],
    ["a page", () => new Response("<html>Maintenance</html>"), "checksum"],
    ["bytes", () => new Response(new Uint8Array(1_000).fill(0xff)), "checksum"],
    ["a bad gateway", () => new Response("Bad gateway", { status: 502 }), "502"],
    ["a redirect", () => Response.redirect(`${scheme.url}/elsewhere`, 302), "302"],
    ["a redirect that would repeat the call", () => Response.redirect(`${scheme.url}/elsewhere`, 307), "307"],
    ["too much", () => new Response("x".repeat(5_000_000)), "too long"],
    ["without end", () => new Response(endless()), "too long"],
    ["too late", () => Bun.sleep(2_000).then(() => new Response("late")), "0.5 s"],
    ["too slowly", () => new Response(trickle()), "0.5 s"],
    ["another's signature", (sent) => signed(sent, stranger.private_key_pem), "checksum"],
    ["a changed amount", (sent) => good({ ...scheme.confirmation(sent), fpx_txnAmount: "2.00" }), "checksum"],
    [
      "a changed code",
      (sent) => good({ ...scheme.confirmation(sent, { debitAuthCode: "51" }), fpx_debitAuthCode: "00" }),
      "checksum",
    ],
    ["no checksum", (sent) => good({ ...scheme.confirmation(sent), fpx_checkSum: "" }), "checksum"],
    [
      "another order",
      (sent) => good(scheme.confirmation(sent, { sellerExOrderNo: "OTHER" })),
      "another order",
    ],
    ["another amount", (sent) => good(scheme.confirmation(sent, { txnAmount: "2.00" })), "another amount"],
    ["another currency", (sent) => good(scheme.confirmation(sent, { txnCurrency: "SGD" })), "currency"],
    ["another seller", (sent) => good(scheme.confirmation(sent, { sellerId: "SE9" })), "another seller"],
    ["another exchange", (sent) => good(scheme.confirmation(sent, { sellerExId: "EX9" })), "another seller"],
    ["another type", (sent) => good(scheme.confirmation(sent, { msgType: "AX" })), "type AC"],
    ["no code", (sent) => good(scheme.confirmation(sent, { debitAuthCode: "" })), "response code"],
    ["an amount in words", (sent) => good(scheme.confirmation(sent, { txnAmount: "1e0" })), "amount"],
    ["a separator in a value", (sent) => good(scheme.confirmation(sent, { buyerName: "a|b" })), "separator"],
    [
      "a field twice",
      (sent) => new Response(`${written(scheme.confirmation(sent)).trim()}&fpx_debitAuthCode=00`),
      "repeated",
    ],
  ])("answered by %s, it stays pending, and is not sent again", async (_, answer, why) => {
    scheme.answerStatus(({ fields }) => answer(fields));
    const result = await statusOf();
    expect(result).toMatchObject({ status: "pending", code: null, is_retriable: false, scheme_txn_id: null });
    expect(result?.message).toContain(why);
    expect(scheme.requests.map(({ path }) => path)).toEqual(["/FPXMain/sellerNVPTxnStatus.jsp"]);
  });

  test("a scheme that is not there leaves it pending", async () => {
    const gone = fpx({ ...scheme.account, url: "http://127.0.0.1:9" });
    const results = await gone.queryStatus([order()], NOW);
    expect(results.get(order().order_no)).toMatchObject({
      status: "pending",
      message: expect.stringContaining("reached"),
    });
  });

  test("a scheme whose TLS certificate nobody vouches for is not spoken with", async () => {
    const { private_key_pem: key, certificate_pem: cert } = makeIdentity();
    let asked = 0;
    const fetch = () => new Response(String(++asked));
    const server = Bun.serve({ port: 0, hostname: "127.0.0.1", tls: { key, cert }, fetch });
    const results = await fpx({ ...scheme.account, url: `https://127.0.0.1:${server.port}` }).queryStatus(
      [order()],
      NOW,
    );
    await server.stop(true);
    expect(results.get(order().order_no)).toMatchObject({
      status: "pending",
      message: expect.stringContaining("reached"),
    });
    expect(asked).toBe(0);
  });

  test("a certificate is believed in its days only", async () => {
    for (const now of [NOW.subtract({ hours: 24 * 60 }), NOW.add({ hours: 24 * 60 })]) {
      const results = await connector.queryStatus([order()], now);
      expect(results.get(order().order_no)).toMatchObject({
        status: "pending",
        message: expect.stringContaining("not valid"),
      });
    }
  });

  test("a key that is not the seller's gets no answer that counts", async () => {
    const other = fpx({ ...scheme.account, private_key: createPrivateKey(stranger.private_key_pem) });
    const results = await other.queryStatus([order()], NOW);
    expect(results.get(order().order_no)).toMatchObject({ status: "pending" });
  });

  test("what comes by file is not asked for", async () => {
    const by_file = [
      order({ awaits: "approval" }),
      debit(),
      debit({ order_no: "DD2", awaits: "settlement" }),
    ];
    const results = await connector.queryStatus(by_file, NOW);
    expect([...results.values()].map(({ status }) => status)).toEqual(["pending", "pending", "pending"]);
    expect(scheme.requests).toEqual([]);
  });

  test("many are asked for, some at once, each by its own message", async () => {
    let [now, most] = [0, 0];
    scheme.answerStatus(async ({ fields }) => {
      most = Math.max(most, ++now);
      await Bun.sleep(5);
      now--;
      return good(scheme.confirmation(fields));
    });
    const many = Array.from({ length: 50 }, (_, i) => order({ order_no: `EN${i}` }));
    const results = await connector.queryStatus(many, NOW);
    expect([...results.values()].every(({ status }) => status === "ok")).toBe(true);
    expect(results.size).toBe(50);
    expect(scheme.requests).toHaveLength(50);
    expect(most).toBeWithin(2, 9);
  });
});

describe("FPX's banks", () => {
  test("come with their state: those that the list leaves out are offline, new ones are there", async () => {
    const banks = (await connector.listBanks(NOW)) ?? [];
    const states = new Map(banks.map(({ bank_code, type, status }) => [`${bank_code} ${type}`, status]));
    expect(states.get("MB2U0227 B2C")).toBe("online");
    expect(states.get("BIMB0340 B2C")).toBe("offline");
    expect(states.get("BIMB0340 B2B1")).toBe("offline");
    expect(states.get("PBB0233 B2C")).toBe("offline");
    expect(states.get("NEW001 B2B1")).toBe("online");
    expect(banks.filter(({ bank_code }) => bank_code.startsWith("TEST"))).toEqual([]);
    expect(
      scheme.requests.map(({ path, fields }) => [path, fields.fpx_msgToken, fields.fpx_msgType]),
    ).toEqual([
      ["/FPXMain/RetrieveBankList", "01", "BE"],
      ["/FPXMain/RetrieveBankList", "02", "BE"],
    ]);
  });

  const key = () => createPrivateKey(scheme.scheme.private_key_pem);
  test.each<[what: string, answer: (sent: Record<string, string>) => Response]>([
    ["unsigned", (sent) => good({ ...bankList(sent, "A~A", key()), fpx_checkSum: "AB".repeat(256) })],
    ["of another token", (sent) => good(bankList({ ...sent, fpx_msgToken: "03" }, "MB2U0227~A", key()))],
    [
      "of another exchange",
      (sent) => good(bankList({ ...sent, fpx_sellerExId: "EX9" }, "MB2U0227~A", key())),
    ],
    ["with a state that nobody knows", (sent) => good(bankList(sent, "MB2U0227~C", key()))],
    ["with a code that is none", (sent) => good(bankList(sent, "=cmd()~A", key()))],
    [
      "too long",
      (sent) => good(bankList(sent, Array.from({ length: 600 }, (_, i) => `B${i}~A`).join(","), key())),
    ],
    ["an error", () => new Response("ERROR")],
  ])("are not believed when the list is %s", async (_, answer) => {
    scheme.answerBanks(({ fields }) => answer(fields));
    expect(await connector.listBanks(NOW)).toBeNull();
  });
});

describe("FPX's callbacks", () => {
  const sent = () => connector.authorizationForm(order())?.fields ?? {};

  test("tell of their order, once they are believed; fields that nobody knows are passed over", () => {
    const body = `${written(scheme.confirmation(sent())).trim()}&fpx_new=1&utm=x&utm=y`;
    expect(connector.parseCallback(body, NOW)).toEqual({
      order_no: "EN0000000001",
      amount: "1.00",
      result: {
        status: "ok",
        code: "00",
        message: "Approved",
        is_retriable: false,
        scheme_txn_id: "1708171401020085",
        answers: "first",
      },
    });
  });

  test("are refused after any one field was changed", () => {
    const message = scheme.confirmation(sent());
    for (const name of Object.keys(message)) {
      const changed = new URLSearchParams({ ...message, [name]: `${message[name]}1` }).toString();
      expect(() => connector.parseCallback(changed, NOW), name).toThrow("Cannot take the callback");
    }
  });

  test("may have a checksum in small letters, and amounts without digits after the point", () => {
    const message = scheme.confirmation(sent(), { txnAmount: "1" });
    const small = { ...message, fpx_checkSum: message.fpx_checkSum?.toLowerCase() ?? "" };
    expect(connector.parseCallback(new URLSearchParams(small).toString(), NOW).amount).toBe("1.00");
  });
});

const good = (fields: Record<string, string>) => new Response(written(fields));

/** Signed as the scheme does, with another key. */
function signed(sent: Record<string, string>, private_key_pem: string): Response {
  const { fpx_checkSum: _, ...fields } = scheme.confirmation(sent);
  const bare = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name.slice(4), value]));
  return good(signMessage("AC", bare, createPrivateKey(private_key_pem)));
}

function endless(): ReadableStream<Uint8Array> {
  return new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(16_384).fill(120)) });
}

/** A byte every now and then. */
function trickle(): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      await Bun.sleep(50);
      controller.enqueue(new Uint8Array([120]));
    },
  });
}
