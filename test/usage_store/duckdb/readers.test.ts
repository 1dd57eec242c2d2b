import { afterAll, beforeAll, expect, test } from "bun:test";
import { DuckDBInstance } from "@duckdb/node-api";
import { Engine } from "../../../src/usage_store/duckdb/engine/engine.ts";
import { Readers, type ReadersLimits } from "../../../src/usage_store/duckdb/engine/readers.ts";
import type { QueueMember } from "../../../src/usage_store/query/fair_queue.ts";
import { failure, TIMEOUT_MS } from "../conformance.ts";

let instance: DuckDBInstance;

beforeAll(async () => {
  instance = await DuckDBInstance.create(":memory:");
});
afterAll(() => instance.closeSync());

/** Readers, and the names of the questions in the order in which they began. */
async function open(limits: ReadersLimits) {
  const readers = await Readers.open(new Engine(instance), limits);
  const began: string[] = [];
  /** Asks a question that lasts until `end`. */
  const ask = (
    asker: QueueMember,
    name: string,
    end: Promise<void> = Promise.resolve(),
    timeout_ms = TIMEOUT_MS,
  ) =>
    readers.run(asker, timeout_ms, async () => {
      began.push(name);
      await end;
    });
  return { readers, began, ask };
}

test("questions that wait are served by company in turn, each company's in their order", async () => {
  const { readers, began, ask } = await open({ readers: 1, waiting: 20, waiting_company: 10 });
  const hold = Promise.withResolvers<void>();
  const asked = [ask(1, "a0", hold.promise)];
  for (const name of ["a1", "a2", "a3", "a4"]) asked.push(ask(1, name));
  for (const name of ["b1", "b2"]) asked.push(ask(2, name));
  asked.push(ask(null, "ping"));
  hold.resolve();
  await Promise.all(asked);
  expect(began).toEqual(["a0", "b1", "a1", "ping", "b2", "a2", "a3", "a4"]);
  await readers.close();
});

test("a company that runs nothing is next, however many of another wait", async () => {
  const { readers, began, ask } = await open({ readers: 3, waiting: 100, waiting_company: 90 });
  const holds = [1, 2, 3].map(() => Promise.withResolvers<void>());
  const asked = holds.map(({ promise }, i) => ask(1, `a${i}`, promise));
  // A question begins once its transaction has: the first three in any order, but before the rest is looked at.
  while (began.length < 3) await Bun.sleep(1);
  for (let i = 3; i < 93; i++) asked.push(ask(1, `a${i}`));
  const b = ask(2, "b");
  expect(await failure(ask(1, "a93"))).toMatchObject({ kind: "rate_limited", retry_after_s: 1 });
  holds[1]?.resolve();
  await b;
  expect(began.indexOf("b")).toBe(3);
  for (const { resolve } of holds) resolve();
  await Promise.all(asked);
  expect(began).toHaveLength(94);
  await readers.close();
});

test("a company never takes the last place, but the service itself does; what waited goes on as places come free", async () => {
  const { readers, began, ask } = await open({
    readers: 3,
    waiting: 20,
    waiting_company: 10,
    running_company: 2,
  });
  const holds = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const asked = holds.map(({ promise }, i) => ask(1, `a${i}`, promise));
  await ask(2, "b0");
  await ask(2, "b1");
  await ask(null, "own");
  while (began.length < 5) await Bun.sleep(1);
  expect(began.toSorted((a, b) => a.localeCompare(b))).toEqual(["a0", "a1", "b0", "b1", "own"]);
  holds[1]?.resolve();
  await asked[1];
  while (began.length < 6) await Bun.sleep(1);
  expect(began.at(-1)).toBe("a2");
  for (const { resolve } of holds) resolve();
  await Promise.all(asked);
  expect(began.at(-1)).toBe("a3");
  await readers.close();
});

test("the bound on waiting holds for a company and in all, and frees who gave up", async () => {
  const { readers, began, ask } = await open({ readers: 1, waiting: 5, waiting_company: 2 });
  const hold = Promise.withResolvers<void>();
  const asked = [ask(1, "a0", hold.promise), ask(1, "a1"), ask(2, "b1"), ask(2, "b2")];
  const late = failure(ask(1, "late", undefined, 1));
  expect((await failure(ask(1, "over the company's"))).kind).toBe("rate_limited");
  asked.push(ask(3, "c1"));
  expect((await failure(ask(4, "over all"))).kind).toBe("rate_limited");
  // Its time is up while it waits: its place is free again, once.
  expect((await late).kind).toBe("unavailable");
  asked.push(ask(1, "a2"));
  expect((await failure(ask(3, "over all again"))).kind).toBe("rate_limited");
  hold.resolve();
  await Promise.all(asked);
  expect(began).toEqual(["a0", "b1", "a1", "c1", "b2", "a2"]);
  await readers.close();
});

test("close() refuses who waits, of every company, and lets who runs finish", async () => {
  const { readers, began, ask } = await open({ readers: 1, waiting: 9, waiting_company: 9 });
  const hold = Promise.withResolvers<void>();
  const running = ask(1, "a0", hold.promise);
  const waiting = [ask(1, "a1"), ask(2, "b1"), ask(null, "ping")].map(failure);
  const closing = readers.close();
  expect((await Promise.all(waiting)).map(({ kind }) => kind)).toEqual(Array(3).fill("unavailable"));
  hold.resolve();
  await Promise.all([running, closing]);
  expect(began).toEqual(["a0"]);
});

test("an aborted question ends, whether it runs or waits, and frees its place", async () => {
  const { readers } = await open({ readers: 1, waiting: 9, waiting_company: 9 });
  const [running, waiting] = [new AbortController(), new AbortController()];
  const endless = "SELECT count(*) FROM range(1_000_000_000_000) AS a, range(1_000_000) AS b";
  const ask = (signal?: AbortSignal, sql = endless) =>
    readers.runStatement(1, TIMEOUT_MS, (connection) => connection.run(sql), signal).catch((error) => error);
  const asked = [ask(running.signal), ask(waiting.signal)];
  waiting.abort("waits no more");
  expect(await asked[1]).toBe("waits no more");
  expect(readers.waiting).toBe(0);
  running.abort("is needed no more");
  expect(await asked[0]).toBe("is needed no more");
  expect(await ask(AbortSignal.abort("came too late"))).toBe("came too late");
  expect(await ask(undefined, "SELECT 1")).not.toBeInstanceOf(Error);
  await readers.close();
});

test("a failed question frees its turn", async () => {
  const { readers, began, ask } = await open({ readers: 1, waiting: 9, waiting_company: 9 });
  const broken = readers.run(1, TIMEOUT_MS, async (connection) => {
    await connection.run("SELECT nothing FROM nowhere");
  });
  const asked = [ask(1, "a1"), ask(2, "b1")];
  expect(await broken.catch(String)).toContain("nowhere");
  await Promise.all(asked);
  expect(began).toEqual(["b1", "a1"]);
  await readers.close();
});

test("a question that takes too much memory is refused, and the next is answered", async () => {
  const small = await DuckDBInstance.create(":memory:", { memory_limit: "20MB", temp_directory: "" });
  const readers = await Readers.open(new Engine(small), { readers: 1, waiting: 1, waiting_company: 1 });
  const ask = (sql: string) => readers.run(1, TIMEOUT_MS, (connection) => connection.run(sql));
  const error = await failure(ask("SELECT len(list(range)) FROM range(10_000_000)"));
  expect(error).toMatchObject({ kind: "unavailable", retry_after_s: 1 });
  expect(error.message).toContain("memory");
  await ask("SELECT 1");
  await readers.close();
  small.closeSync();
});
