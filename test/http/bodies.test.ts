import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../src/http/limits.ts";
import { addSubscription } from "../usage/fixtures.ts";
import { tokenOf } from "../usage/ingest/streams.ts";
import { type Tenant, useService } from "../support/harness.ts";
import { openRequest, type RawRequest, statusOf } from "../support/raw_request.ts";

// What callers hold, who begin to send a body and do not end it.

const JSON_TYPE = { "content-type": "application/json" };
const limits = { ...LIMITS };

let other: Tenant;
const opened: RawRequest[] = [];

const service = useService();

beforeAll(async () => {
  other = await service.addTenant();
  await addSubscription(service, "acme");
  await addSubscription(other, "acme");
});
afterEach(() => {
  Object.assign(LIMITS, limits);
  for (const request of opened.splice(0)) request.leave();
});

/** Begins so many requests at once, each of which says that it is `length` bytes long. */
async function begin(
  count: number,
  path: string,
  { token, length, begun = "" }: { token?: string; length: number; begun?: string },
): Promise<RawRequest[]> {
  const signed = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...JSON_TYPE, ...signed, "content-length": length };
  const requests = await Promise.all(
    Array.from({ length: count }, () => openRequest(service.url, `/api/v1${path}`, headers, begun)),
  );
  opened.push(...requests);
  return requests;
}

/** A tenant makes a client and sends an event. */
async function write({ api }: Tenant): Promise<number[]> {
  const client = await api("POST", "/clients", { name: "Acme" });
  const event = await api("POST", "/usage/events", { external_subscription_id: "acme", usage: 1 });
  return [client.status, event.status];
}

describe("bodies that are declared and not sent", () => {
  test("of callers nobody knows, are refused where they are long, and hold nothing where they are short", async () => {
    const long = await begin(60, "/login", { length: LIMITS.body_bytes });
    expect(await Promise.all(long.map(statusOf))).toEqual(long.map(() => 413));
    await begin(300, "/login", { length: LIMITS.open_body_bytes });
    expect(await write(service)).toEqual([201, 201]);
    expect((await service.anonymous("POST", "/login", { email: "a@b.example", password: "x" })).status).toBe(
      401,
    );
  });

  test("hold nothing either of callers who are known, whatever they say of their length", async () => {
    const token = await tokenOf(service, other.admin_email);
    // Lengths that would fill any room to the last byte.
    for (const length of [LIMITS.body_bytes, 1_000_000, 100_000, 10_000, 1_000, 100]) {
      for (const path of ["/clients", "/usage/events"]) await begin(30, path, { token, length, begun: "{" });
    }
    for (let i = 0; i < 10; i++) expect(await write(service)).toEqual([201, 201]);
    expect(await write(other)).toEqual([201, 201]);
  });
});

describe("bodies that are sent in part", () => {
  test("count with what came in, for their company only up to its share", async () => {
    Object.assign(LIMITS, {
      bodies_bytes: 10_000_000,
      bodies_company_bytes: 5_000_000,
      bodies_user_bytes: 4_000_000,
    });
    const token = await tokenOf(service, other.admin_email);
    const begun = `{"name":"${"x".repeat(1_000_000)}`;
    const requests = await begin(8, "/usage/events", { token, length: LIMITS.body_bytes, begun });
    const refused = () => requests.filter(({ answer }) => answer !== "");
    while (refused().length < 5) await Bun.sleep(5);
    for (const request of refused()) expect(request.answer).toStartWith("HTTP/1.1 429 ");
    expect(refused()[0]?.answer).toContain("Your user sends too many large bodies at once");
    expect((await other.api("POST", "/clients", { name: "y".repeat(1_000_000) })).status).toBe(429);
    expect(await write(service)).toEqual([201, 201]);
    for (const request of requests) request.leave();
    // All of it is given back.
    while ((await other.api("POST", "/clients", { name: "y".repeat(3_900_000) })).status === 429)
      await Bun.sleep(5);
  });

  test("of an address, up to its share, and without a word about the bodies of others", async () => {
    Object.assign(LIMITS, { open_bodies_address_bytes: 60_000 });
    const begun = `{"email":"${"x".repeat(14_000)}`;
    const requests = await begin(10, "/login", { length: LIMITS.open_body_bytes, begun });
    while (requests.filter(({ answer }) => answer !== "").length < 6) await Bun.sleep(5);
    expect(requests.map(({ answer }) => answer).find((answer) => answer !== "")).toStartWith("HTTP/1.1 429 ");
    expect(await write(service)).toEqual([201, 201]);
  });
});

describe("a body that takes too long", () => {
  test.each([
    ["of a user", "/clients", true],
    ["of events", "/usage/events", true],
    ["of nobody", "/login", false],
  ])("%s is a 408, also where it drips, and its connection is closed", async (_, path, signed) => {
    Object.assign(LIMITS, { body_ms: 400, open_body_ms: 400 });
    const token = signed ? await tokenOf(service, other.admin_email) : undefined;
    const [request] = await begin(1, path, { ...(token && { token }), length: 10_000, begun: '{"name":"' });
    const drip = setInterval(() => request?.write("x"), 20);
    await request?.closed;
    clearInterval(drip);
    expect(request?.answer).toStartWith("HTTP/1.1 408 ");
    expect(request?.answer).toContain("The body took over 0.4 s to arrive");
  });

  test("of an agent that registers, asks for a token or signs in, too", async () => {
    Object.assign(LIMITS, { open_body_ms: 300 });
    const form = { "content-type": "application/x-www-form-urlencoded", "content-length": 1_000 };
    for (const path of ["/oauth/token", "/oauth/revoke", "/oauth/authorize"]) {
      const request = await openRequest(service.url, path, form, "a=b");
      opened.push(request);
      await request.closed;
      expect([path, request.answer.slice(0, 13)]).toEqual([path, "HTTP/1.1 408 "]);
    }
  });
});
