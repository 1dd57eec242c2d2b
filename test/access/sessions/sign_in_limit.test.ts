import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  type Api,
  apiOf,
  INSTANCES,
  type Service,
  PASSWORD,
  startService,
  TestClock,
} from "../../support/harness.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
let service: Service;

beforeEach(async () => {
  clock.set("2026-03-10T12:00:00Z");
  service = await startService({ clock, env: { RATE_LIMIT_ENABLED: "true", TRUST_PROXY: "true" } });
});
afterEach(() => service.stop());

/** Signs in from an address and answers the status. */
async function signIn(from: string, password: string, email = service.admin_email): Promise<number> {
  const { status } = await apiOf(service.url, { "x-forwarded-for": from })("POST", "/login", {
    email,
    password,
  });
  return status;
}

/** How many of so many guesses, made one after another, were looked at. */
async function guess(from: string, count: number, email?: string): Promise<number> {
  let looked_at = 0;
  for (let i = 0; i < count; i++) if ((await signIn(from, "wrong", email)) === 401) looked_at++;
  return looked_at;
}

const ELSEWHERE = "203.0.113.7";

describe("one network and one account", () => {
  test("ten failures in any sixty seconds, not ten on each side of the minute's turn", async () => {
    clock.set("2026-03-10T12:00:59Z");
    expect(await guess(ELSEWHERE, 11)).toBe(10);
    clock.set("2026-03-10T12:01:00Z");
    expect(await guess(ELSEWHERE, 2)).toBe(0);
    clock.set("2026-03-10T12:01:58.999Z");
    expect(await signIn(ELSEWHERE, PASSWORD)).toBe(429);
    clock.set("2026-03-10T12:01:59Z");
    expect(await signIn(ELSEWHERE, PASSWORD)).toBe(200);
  });

  test("guesses that wait over the minute's turn set nothing back", async () => {
    clock.set("2026-03-10T12:00:59Z");
    const early = Array.from({ length: 60 }, () => signIn(ELSEWHERE, "wrong"));
    await Promise.race(early);
    clock.set("2026-03-10T12:01:00Z");
    const late = Array.from({ length: 60 }, () => signIn(ELSEWHERE, "wrong"));
    const statuses = await Promise.all([...early, ...late]);
    const looked_at = statuses.filter((status) => status === 401).length;
    expect(looked_at).toBeWithin(10, 10 + INSTANCES);
    expect(statuses.filter((status) => status === 429)).toHaveLength(120 - looked_at);
  });

  test("the addresses of one IPv6 /64 are one network, whatever the way they are written", async () => {
    for (let i = 1; i <= 10; i++) expect(await signIn(`2001:db8:0:1::${i}`, "wrong")).toBe(401);
    expect(await signIn("[2001:DB8:0:1:ffff::7]:4711", "wrong")).toBe(429);
    expect(await signIn("2001:db8:0:2::1", PASSWORD)).toBe(200);
  });

  test("an IPv4 address is the same over an IPv6 socket and with a port", async () => {
    expect(await guess(ELSEWHERE, 8)).toBe(8);
    expect(await guess(`::ffff:${ELSEWHERE}`, 1)).toBe(1);
    expect(await guess(`${ELSEWHERE}:50123`, 2)).toBe(1);
  });

  test("what a proxy passes on that is no address tells nobody apart", async () => {
    for (let i = 0; i < 10; i++) expect(await signIn(`made up ${i}`, "wrong")).toBe(401);
    expect(await signIn("made up again", PASSWORD)).toBe(429);
  });
});

describe("one account", () => {
  test("a hundred failures an hour from all networks; who has signed in from there before goes on", async () => {
    const home = "198.51.100.1";
    expect(await signIn(home, PASSWORD)).toBe(200);
    let looked_at = 0;
    for (let i = 0; i < 11; i++) looked_at += await guess(`203.0.113.${i}`, 10);
    expect(looked_at).toBe(100);
    expect(await signIn("203.0.113.99", PASSWORD)).toBe(429);
    expect(await signIn(home, PASSWORD)).toBe(200);
    clock.set("2026-03-10T12:59:00Z");
    expect(await signIn("203.0.113.99", PASSWORD)).toBe(429);
    // Not even a known network is let off its own ten.
    expect(await guess(home, 12)).toBe(10);
    clock.set("2026-03-10T13:01:00Z");
    expect(await signIn("203.0.113.99", PASSWORD)).toBe(200);
  });

  test("guesses made from many networks at once are as many", async () => {
    const from = (i: number) => `198.51.${i % 250}.${Math.floor(i / 250)}`;
    const statuses = await Promise.all(
      Array.from({ length: 150 }, (_, i) => signIn(from(i), "wrong", "nobody@example.com")),
    );
    expect(statuses.filter((status) => status === 401).length).toBeWithin(100, 100 + INSTANCES);
  });
});

describe("whether another company has an email cannot be told by the limits: decision 0145", () => {
  const OWN = "a password of my own";
  type Step = [who: "unnamed" | "mine" | "theirs" | "own password", times: number];

  test.each<[string, Step[]]>([
    [
      "without a company, then in each",
      [
        ["unnamed", 11],
        ["mine", 2],
        ["theirs", 2],
      ],
    ],
    [
      "in my company, then in theirs",
      [
        ["mine", 11],
        ["unnamed", 2],
        ["theirs", 2],
      ],
    ],
    [
      "in theirs, then in mine",
      [
        ["theirs", 11],
        ["unnamed", 2],
        ["mine", 2],
      ],
    ],
    [
      "by turns",
      [
        ["theirs", 6],
        ["unnamed", 6],
        ["theirs", 6],
        ["mine", 11],
        ["unnamed", 6],
      ],
    ],
    [
      "with an account of my own",
      [
        ["own password", 12],
        ["theirs", 2],
        ["unnamed", 12],
        ["theirs", 12],
      ],
    ],
  ])("%s", async (_, steps) => {
    const other = await service.addTenant();
    const companies = { mine: service.company_id, theirs: other.company_id };
    const statusesOf = async (email: string, from: string, companies_with_it: Api[]) => {
      for (const api of companies_with_it) {
        const password = api === service.api ? OWN : PASSWORD;
        expect((await api("POST", "/users", { email, name: "U", role: "admin", password })).status).toBe(201);
      }
      const login = apiOf(service.url, { "x-forwarded-for": from });
      const statuses: number[] = [];
      for (const [who, times] of steps) {
        const named = who === "mine" || who === "theirs" ? { company_id: companies[who] } : {};
        const body = { email, password: who === "own password" ? OWN : "wrong", ...named };
        for (let i = 0; i < times; i++) statuses.push((await login("POST", "/login", body)).status);
      }
      return statuses;
    };
    const own = steps.some(([who]) => who === "own password") ? [service.api] : [];
    const known = await statusesOf("known@example.com", "203.0.113.1", [...own, other.api]);
    expect(await statusesOf("unknown@example.com", "203.0.113.2", own)).toEqual(known);
    expect(known).toContain(429);
  });
});
