import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/http/limits.ts";
import { type Json, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addSubscription, ms, search, uuid } from "../fixtures.ts";
import { eventLines, NDJSON, sendLines, tokenOf } from "./streams.ts";

const NOW = ms("2026-03-10T12:00:00Z");
const good = { external_subscription_id: "acme", usage: 1 };

const service = useService({ clock: new TestClock("2026-03-10T12:00:00.000Z") });

/** A company of its own for each test, which has one subscription. */
async function newTenant(): Promise<Tenant> {
  const tenant = await service.addTenant();
  await addSubscription(tenant, "acme");
  return tenant;
}

async function stored({ api }: Tenant): Promise<number> {
  return (await search(api, { limit: 1 })).meta.total;
}

describe("a stream of lines", () => {
  test.each([
    ["nothing", "", 0],
    ["blank lines only", "\n \r\n\t\n", 0],
    ["one line without its end", JSON.stringify(good), 1],
    ["lines that end in CRLF", `${JSON.stringify(good)}\r\n${JSON.stringify(good)}\r\n`, 2],
    ["blank lines between", `\n${JSON.stringify(good)}\n\n  \n${JSON.stringify(good)}\n\n`, 2],
    ["999 lines", "999", 999],
    ["1,000 lines", "1000", 1_000],
    ["1,001 lines", "1001", 1_001],
    ["2,000 lines", "2000", 2_000],
    ["4,500 lines", "4500", 4_500],
  ])("of %s is stored", async (_, text, count) => {
    const tenant = await newTenant();
    const lines = /^\d+$/.test(text) ? eventLines(Number(text)) : [text];
    const answer = await sendLines(tenant.api, lines);
    expect(answer).toMatchObject({ status: 201, body: { data: { accepted: count, duplicates: 0 } } });
    expect(await stored(tenant)).toBe(count);
  });

  test("has the fields and rules of every event", async () => {
    const tenant = await newTenant();
    const [id, timestamp] = [uuid(77), NOW - 5];
    await sendLines(tenant.api, [
      {
        id,
        subscription_id: `${tenant.company_id}:acme`,
        timestamp,
        usage: 0.0000005,
        metadata: { b: [1], a: "é𝄞" },
      },
    ]);
    const { data } = await search(tenant.api, {});
    expect(data).toMatchObject([{ id, timestamp, usage: 0.000001, metadata: { a: "é𝄞", b: [1] } }]);
  });

  test("may be longer than any JSON body, in as many pieces as it comes", async () => {
    const tenant = await newTenant();
    const metadata = { filler: "x".repeat(3_000) };
    const text = eventLines(2_500, { metadata }).map((event) => `${JSON.stringify(event)}\n`);
    expect(text.join("").length).toBeGreaterThan(LIMITS.body_bytes);
    const bytes = Buffer.from(text.join(""));
    let at = 0;
    const body = new ReadableStream({
      pull(controller) {
        controller.enqueue(bytes.subarray(at, (at += 7_777)));
        if (at >= bytes.length) controller.close();
      },
    });
    const headers = { authorization: `Bearer ${await tokenOf(service, tenant.admin_email)}`, ...NDJSON };
    const response = await fetch(`${service.url}/api/v1/usage/events`, { method: "POST", body, headers });
    expect([response.status, await response.json()]).toEqual([
      201,
      { data: { accepted: 2_500, duplicates: 0 } },
    ]);
    expect(await stored(tenant)).toBe(2_500);
  });

  test("sent again stores nothing; an id twice in it is a duplicate, in the same block or a later one", async () => {
    const tenant = await newTenant();
    const lines = eventLines(1_500);
    const repeats = [...lines.slice(0, 3), ...lines, ...lines.slice(0, 2)];
    const first = await sendLines(tenant.api, repeats);
    expect(first.body.data).toEqual({ accepted: 1_500, duplicates: 5 });
    const again = await sendLines(tenant.api, lines);
    expect(again).toMatchObject({ status: 201, body: { data: { accepted: 0, duplicates: 1_500 } } });
  });

  test("counts whatever comes without an id anew", async () => {
    const tenant = await newTenant();
    for (const accepted of [1_200, 1_200]) {
      const { body } = await sendLines(
        tenant.api,
        Array.from({ length: 1_200 }, () => good),
      );
      expect(body.data).toEqual({ accepted, duplicates: 0 });
    }
    expect(await stored(tenant)).toBe(2_400);
  });

  test.each(["application/x-ndjson; charset=utf-8", "Application/X-NDJSON"])(
    "may be called %s",
    async (type) => {
      const tenant = await newTenant();
      const answer = await tenant.api("POST", "/usage/events", JSON.stringify(good), {
        "content-type": type,
      });
      expect(answer.status).toBe(201);
    },
  );

  test("of another company's subscription is refused", async () => {
    const [tenant, other] = [await newTenant(), await newTenant()];
    await addSubscription(other, "theirs");
    for (const event of [
      { external_subscription_id: "theirs", usage: 1 },
      { subscription_id: `${other.company_id}:acme`, usage: 1 },
    ]) {
      expect(await sendLines(tenant.api, [good, event])).toMatchObject({ status: 422, body: { line: 2 } });
    }
    expect([await stored(tenant), await stored(other)]).toEqual([0, 0]);
  });

  test("needs the right to ingest, even when it is empty", async () => {
    const tenant = await newTenant();
    const { client_id } = await addSubscription(tenant, "for access");
    const analyst = await service.addUser(tenant, "analyst");
    const client = await service.addUser(tenant, "client", client_id);
    const manager = await service.addUser(tenant, "manager");
    const statuses: number[][] = [];
    for (const lines of [[good], []]) {
      const answers = await Promise.all(
        [service.anonymous, analyst, client, manager].map((caller) => sendLines(caller, lines)),
      );
      statuses.push(answers.map(({ status }) => status));
    }
    expect(statuses).toEqual([
      [401, 403, 403, 201],
      [401, 403, 403, 201],
    ]);
  });
});

describe("a broken line", () => {
  const deep = (levels: number) => `{"metadata":${'{"a":'.repeat(levels)}1${"}".repeat(levels)}}`;

  const BAD: [name: string, line: unknown, path: string, message: string][] = [
    ["that is no JSON", "{", "", "is not JSON"],
    ["of two values", `${JSON.stringify(good)}${JSON.stringify(good)}`, "", "is not JSON"],
    ["that is a number", "5", "", "must be an object"],
    ["that is null", "null", "", "must be an object"],
    ["that is an array", [good], "", "must be an object"],
    ["that is a batch", { events: [good] }, "/events", "is not a known field"],
    ["that lacks a field", { external_subscription_id: "acme" }, "/usage", "is required"],
    ["with an unknown field", { ...good, quantity: 1 }, "/quantity", "is not a known field"],
    ["with a bad id", { ...good, id: "7" }, "/id", "must be a UUID"],
    ["with an id that is null", { ...good, id: null }, "/id", "must be a UUID"],
    ["with a bad usage", { ...good, usage: "1" }, "/usage", "must be a number"],
    ["of the far future", { ...good, timestamp: NOW + 3_600_001 }, "/timestamp", "at most an hour"],
    ["before its subscription", { ...good, timestamp: 5 }, "/timestamp", "must not be before"],
    [
      "of no subscription",
      { ...good, external_subscription_id: "x" },
      "/external_subscription_id",
      "names no",
    ],
    ["nested too deep", deep(LIMITS.body_depth), "", "levels deep"],
    [
      "with metadata nested too deep",
      deep(101).replace("{", '{"usage":1,"external_subscription_id":"acme",'),
      "/metadata",
      "nested",
    ],
    ["with NUL", { ...good, metadata: { k: "a\0b" } }, "/metadata/k", "NUL"],
    ["with half a surrogate pair", { ...good, metadata: { k: "\ud800" } }, "/metadata/k", "surrogate"],
    [
      "that is too long",
      { ...good, x: "x".repeat(LIMITS.line_bytes) },
      "",
      "must be at most 131072 bytes long",
    ],
  ];

  test.each(BAD)("%s is named, with its number and what is wrong", async (_, line, path, message) => {
    const tenant = await newTenant();
    const answer = await sendLines(tenant.api, [good, "", line, good, "{"]);
    expect(answer.status).toBe(422);
    const { error, details, ...progress } = answer.body;
    expect(progress).toEqual({ line: 3, accepted: 0, duplicates: 0 });
    expect(details[0].path).toBe(path);
    expect(details[0].message).toContain(message);
    expect(error).toStartWith("line 3: ");
    expect(error).toContain(message);
    expect(error).toEndWith("; nothing was stored");
    expect(await stored(tenant)).toBe(0);
  });

  test("that is no UTF-8 is named", async () => {
    const tenant = await newTenant();
    const headers = { authorization: `Bearer ${await tokenOf(service, tenant.admin_email)}`, ...NDJSON };
    const body = Buffer.concat([Buffer.from(`${JSON.stringify(good)}\n`), Buffer.from([0x22, 0xff, 0x22])]);
    const response = await fetch(`${service.url}/api/v1/usage/events`, { method: "POST", body, headers });
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({
      line: 2,
      details: [{ path: "", message: "The line is not UTF-8 text" }],
    });
  });

  test("without an end is refused as soon as it is too long", async () => {
    const tenant = await newTenant();
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        if (sent > 64 * 1024 * 1024) controller.close();
        else controller.enqueue(new Uint8Array(65_536).fill(0x78));
      },
    });
    const headers = { authorization: `Bearer ${await tokenOf(service, tenant.admin_email)}`, ...NDJSON };
    const response = await fetch(`${service.url}/api/v1/usage/events`, { method: "POST", body, headers });
    const answer: Json = await response.json();
    expect([response.status, answer.line]).toEqual([422, 1]);
    expect(sent).toBeLessThan(64 * 1024 * 1024);
  });

  test.each([
    [1, 0],
    [1_000, 0],
    [1_001, 1_000],
    [2_000, 1_000],
    [2_001, 2_000],
    [2_500, 2_000],
  ])("as line %d: %d events are stored, the whole blocks before", async (line, accepted) => {
    const tenant = await newTenant();
    const lines: unknown[] = eventLines(2_600);
    lines[line - 1] = "{";
    const answer = await sendLines(tenant.api, lines);
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ line, accepted, duplicates: 0 });
    const told =
      accepted === 0
        ? "nothing was stored"
        : `stored are the lines before ${accepted + 1}: ${accepted} events`;
    expect(answer.body.error).toContain(told);
    expect(await stored(tenant)).toBe(accepted);
  });

  test("is the first one, whatever is wrong with it and with those after it", async () => {
    const tenant = await newTenant();
    const wrong = { ...good, usage: "x", id: 5 };
    const cases: [lines: unknown[], line: number, paths: string[]][] = [
      [[good, wrong, "{"], 2, ["/id", "/usage"]],
      [[good, "{", wrong], 2, [""]],
      [[good, wrong, wrong], 2, ["/id", "/usage"]],
    ];
    for (const [lines, line, paths] of cases) {
      const { body } = await sendLines(tenant.api, lines);
      expect([body.line, body.details.map(({ path }: { path: string }) => path)]).toEqual([line, paths]);
    }
  });

  test("after a block of duplicates: they are counted", async () => {
    const tenant = await newTenant();
    const lines = eventLines(1_000);
    await sendLines(tenant.api, lines.slice(0, 400));
    const { body } = await sendLines(tenant.api, [...lines, good, "{"]);
    expect(body).toMatchObject({ line: 1_002, accepted: 600, duplicates: 400 });
  });
});

describe("an id that is taken by other content", () => {
  test.each([
    [1, 0],
    [1_700, 1_000],
  ])("in line %d is a 409 that names it; %d events are stored", async (line, accepted) => {
    const tenant = await newTenant();
    const lines = eventLines(2_200);
    const taken = crypto.randomUUID();
    await sendLines(tenant.api, [{ ...good, id: taken, usage: 5 }]);
    lines[line - 1] = { ...good, id: taken };
    const answer = await sendLines(tenant.api, lines);
    expect(answer.status).toBe(409);
    expect(answer.body).toMatchObject({ line, accepted, duplicates: 0, details: [{ path: "/id" }] });
    expect(answer.body.error).toContain(`line ${line}: id ${taken} is used already`);
    expect(await stored(tenant)).toBe(accepted + 1);
  });

  test("twice in a stream is a 409 as well", async () => {
    const tenant = await newTenant();
    const lines = [...eventLines(1_500), { ...good, id: uuid(3), usage: 2 }];
    const answer = await sendLines(tenant.api, lines);
    expect([answer.status, answer.body.line, answer.body.accepted]).toEqual([409, 1_501, 1_000]);
  });
});
