import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Completion, startGateway } from "../../examples/llm_gateway/gateway.ts";
import { addKey } from "../access/api_keys/fixtures.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../entitlements/fixtures.ts";

const LIMIT = 500;
const CALLS = 60;
const MAX_TOKENS = 20;

const limits = useLimits();
let company: LimitedCompany;
let gateway: ReturnType<typeof startGateway>;
/** What the stand-in model has written. */
let produced = 0;

/** Every fifth call fails; others take some turns of the loop and use 5 to 19 tokens. */
async function standIn(prompt: string, max_tokens: number): Promise<Completion> {
  const number = Number(prompt);
  for (let turn = 0; turn < number % 7; turn++) await new Promise((resolve) => setImmediate(resolve));
  if (number % 5 === 0) throw new Error("The model is overloaded");
  const tokens = Math.min(max_tokens, 5 + (number % 15));
  produced += tokens;
  return { text: "…", tokens };
}

beforeAll(async () => {
  limits.clock.set(Temporal.Now.instant().round("millisecond").toString());
  company = await limits.addLimited();
  const { clientId, clientSecret } = await addKey(company, "gateway");
  const url = `${limits.service.url}/api/v1`;
  gateway = startGateway({ url, clientId, clientSecret, feature: "tokens", model: standIn });
});
afterAll(() => gateway.stop(true));

async function complete(subscription: string, prompt: number): Promise<number> {
  const body = JSON.stringify({ subscription, prompt: String(prompt), max_tokens: MAX_TOKENS });
  const { status } = await fetch(gateway.url, { method: "POST", body });
  return status;
}

test("the example gateway passes no hard limit, counts every call once and leaves nothing reserved", async () => {
  const { external } = await company.entitle({ ...MONTHLY, limit: LIMIT, window: "life" });
  const statuses = await Promise.all(Array.from({ length: CALLS }, (_, i) => complete(external, i)));
  const { used, reserved, remaining } = (await company.check(external)).body.data;
  expect(reserved).toBe("0");
  expect(Number(used)).toBe(produced);
  expect(produced).toBeLessThanOrEqual(LIMIT);
  expect(Number(remaining)).toBe(LIMIT - produced);
  const of = (status: number) => statuses.filter((other) => other === status).length;
  // Of all at once, only as many pass as their reservations fit.
  expect(of(200)).toBeGreaterThan(0);
  expect(of(429)).toBeGreaterThan(0);
  expect(of(502)).toBeGreaterThan(0);
  expect(of(200) + of(429) + of(502)).toBe(CALLS);
  // One after the other they go on until less is left than a call may take.
  for (let i = 1; (await complete(external, i)) !== 429; i += 1) expect(i).toBeLessThan(500);
  const last = (await company.check(external)).body.data;
  expect([Number(last.used), last.reserved]).toEqual([produced, "0"]);
  expect(produced).toBeLessThanOrEqual(LIMIT);
  expect(produced).toBeGreaterThan(LIMIT - MAX_TOKENS);
});

test("a settlement goes on after a token has ended and its exchange failed once", async () => {
  const { external } = await company.entitle({ ...MONTHLY, limit: LIMIT, window: "life" });
  const asked = { events: 0, exchanges: 0 };
  // In front of the service: the first event finds its token ended, and the exchange for another one fails.
  const proxy = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname.endsWith("/usage/events") && asked.events++ === 0)
        return new Response(null, { status: 401 });
      if (pathname.endsWith("/auth/token") && asked.exchanges++ === 1)
        return new Response(null, { status: 503 });
      const { method, headers } = request;
      return fetch(limits.service.url + pathname, { method, headers, body: await request.text() });
    },
  });
  const key = await addKey(company, "gateway");
  const url = `http://127.0.0.1:${proxy.port}/api/v1`;
  const behind = startGateway({ url, ...key, feature: "tokens", model: standIn });
  try {
    const body = JSON.stringify({ subscription: external, prompt: "1", max_tokens: MAX_TOKENS });
    expect((await fetch(behind.url, { method: "POST", body })).status).toBe(200);
    expect((await company.check(external)).body.data).toMatchObject({ used: "6", reserved: "0" });
    expect(asked).toEqual({ events: 2, exchanges: 3 });
  } finally {
    await behind.stop(true);
    await proxy.stop(true);
  }
});
