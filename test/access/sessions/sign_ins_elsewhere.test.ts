import { beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deleteCountsBefore } from "../../../src/access/sessions/count_queries.ts";
import { openLoginGuard } from "../../../src/access/sessions/login_throttle.ts";
import { openSignInsElsewhere } from "../../../src/access/sessions/sign_ins_elsewhere.ts";
import { signInCountTable } from "../../../src/access/sessions/tables.ts";
import { openTokens } from "../../../src/access/sessions/tokens.ts";
import type { LoginGuard } from "../../../src/app/credentials.ts";
import { onlyInstance } from "../../../src/app/instances.ts";
import { AppError } from "../../../src/core/errors.ts";
import { CONSTRAINTS } from "../../../src/server/schema.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { TEST_STORE, TestClock } from "../../support/harness.ts";
import { testPostgres } from "../../support/postgres.ts";
import { afterEverything } from "../../support/preload.ts";

// Several instances limit sign-ins together, by rows that tell each of what the others have seen.

const clock = new TestClock("2026-03-10T12:00:00Z");
const tokens = openTokens("a secret that all instances have", clock);
const data_dir = mkdtempSync(join(tmpdir(), "meterhouse-"));
let opened: Promise<Store> | undefined;

async function open(): Promise<Store> {
  const database_url = TEST_STORE === "postgres" ? await (await testPostgres()).createMigrated() : null;
  const store = await openStore({ database_url, data_dir }, CONSTRAINTS);
  afterEverything(async () => {
    await store.close();
    rmSync(data_dir, { recursive: true });
  });
  return store;
}

/** Another account in each test. */
let account = "";
let count = 0;
beforeEach(() => {
  account = `user ${++count}`;
  clock.set(clock.now().add({ hours: 24 }).toString());
});

/** Starts one of two instances. */
async function start(): Promise<LoginGuard> {
  const store = await (opened ??= open());
  const other = { id: "other", url: "http://10.0.0.6:3001", version: "1" };
  const instance = {
    ...onlyInstance(crypto.randomUUID()),
    url: "http://10.0.0.5:3001",
    others: [other],
  };
  const elsewhere = openSignInsElsewhere(instance, { store, clock, tokens });
  return openLoginGuard({ rate_limit_enabled: true, rate_limit_login: 10 }, clock, elsewhere);
}

type Outcome = "in" | "wrong" | "refused";

async function attempt(guard: LoginGuard, from: string, is_right: boolean): Promise<Outcome> {
  try {
    const names = [account];
    const fits = await guard.attempt({ address: from, names, is_password: true }, async () => {
      await Bun.sleep(1);
      return is_right;
    });
    return fits.length > 0 ? "in" : "wrong";
  } catch (error) {
    if (error instanceof AppError && error.kind === "rate_limited") return "refused";
    throw error;
  }
}

const HOME = "198.51.100.1";

test("ten failures in all, wherever each was made; also after one of them started anew", async () => {
  const [one, two] = [await start(), await start()];
  const outcomes: Outcome[] = [];
  for (let i = 0; i < 12; i++) outcomes.push(await attempt(i % 3 === 0 ? one : two, HOME, false));
  expect(outcomes.filter((outcome) => outcome === "wrong")).toHaveLength(10);
  expect(outcomes.slice(10)).toEqual(["refused", "refused"]);
  for (const guard of [one, two, await start()]) expect(await attempt(guard, HOME, true)).toBe("refused");
  clock.set(clock.now().add({ seconds: 59 }).toString());
  expect(await attempt(two, HOME, true)).toBe("refused");
  clock.set(clock.now().add({ seconds: 1 }).toString());
  expect([await attempt(one, HOME, true), await attempt(two, HOME, true)]).toEqual(["in", "in"]);
});

test("guesses made at once at both are ten, and at most one more", async () => {
  const guards = [await start(), await start()];
  const outcomes = await Promise.all(
    guards.flatMap((guard) => Array.from({ length: 60 }, () => attempt(guard, HOME, false))),
  );
  const looked_at = outcomes.filter((outcome) => outcome === "wrong").length;
  expect(looked_at).toBeGreaterThanOrEqual(10);
  expect(looked_at).toBeLessThanOrEqual(11);
});

test("many right passwords at once are all right", async () => {
  const guards = [await start(), await start()];
  const outcomes = await Promise.all(
    guards.flatMap((guard) => Array.from({ length: 40 }, () => attempt(guard, HOME, true))),
  );
  expect(new Set(outcomes)).toEqual(new Set(["in"]));
});

test("who has signed in from a network is not shut out there by guesses from everywhere, at any instance", async () => {
  const [one, two] = [await start(), await start()];
  expect(await attempt(one, HOME, true)).toBe("in");
  let looked_at = 0;
  for (let network = 0; network < 11; network++)
    for (let i = 0; i < 10; i++) {
      const guard = i % 2 === 0 ? one : two;
      if ((await attempt(guard, `203.0.113.${network}`, false)) === "wrong") looked_at++;
    }
  expect(looked_at).toBe(100);
  expect(await attempt(two, "203.0.113.99", true)).toBe("refused");
  expect([await attempt(two, HOME, true), await attempt(await start(), HOME, true)]).toEqual(["in", "in"]);
  clock.set(clock.now().add({ hours: 1 }).toString());
  expect(await attempt(two, "203.0.113.99", true)).toBe("in");
});

test("the rows name neither account nor network, and go when they count no more", async () => {
  const [one, two] = [await start(), await start()];
  await attempt(one, HOME, false);
  await attempt(two, HOME, true);
  const store = await (opened ?? open());
  const rows = await store.read.select().from(store.read.use(signInCountTable));
  expect(rows.length).toBeGreaterThan(0);
  const text = JSON.stringify(rows);
  expect(text).not.toContain(HOME);
  expect(text).not.toContain(account);
  const kept = async () => (await store.read.select().from(store.read.use(signInCountTable))).length;
  const prune = (at: Temporal.Instant) => store.tx((q) => deleteCountsBefore(q, at, 1_000));
  await prune(clock.now());
  // The failure by its pair, network and account, and who is known since these tests began.
  expect(await kept()).toBeGreaterThanOrEqual(3);
  await prune(clock.now().add({ hours: 24 * 31 }));
  expect(await kept()).toBe(0);
});
