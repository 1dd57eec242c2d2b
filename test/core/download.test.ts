import { expect, spyOn, test } from "bun:test";
import { type WriteContent, createDownloadStream } from "../../src/core/download.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

/** A stream, and what it was told of breaking off. */
async function open(produce: WriteContent, idle_ms = 10_000, bytes_s = 1) {
  const broken: unknown[] = [];
  const stream = await createDownloadStream(produce, {
    idle_ms,
    bytes_s,
    onError: (error) => broken.push(error),
  });
  return { reader: stream.getReader(), stream, broken };
}

test("no more is made than is taken, and all of it arrives in order", async () => {
  let made = 0;
  const { reader, broken } = await open(async (write) => {
    for (const text of ["a", "b", "c"]) {
      made++;
      await write(bytes(text));
    }
  });
  expect(made).toBe(1);
  const texts: string[] = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    texts.push(new TextDecoder().decode(value));
    expect(made).toBeLessThanOrEqual(texts.length + 1);
  }
  expect([texts, made, broken]).toEqual([["a", "b", "c"], 3, []]);
});

test("what fails before the first byte is thrown, and nothing is reported as broken off", async () => {
  const broken: unknown[] = [];
  const stream = createDownloadStream(() => Promise.reject(new Error("no")), {
    idle_ms: 10_000,
    bytes_s: 1,
    onError: (error) => broken.push(error),
  });
  expect(await stream.catch((error: unknown) => String(error))).toBe("Error: no");
  expect(broken).toEqual([]);
});

test("nothing at all is an empty stream", async () => {
  const { reader } = await open(async () => undefined);
  expect((await reader.read()).done).toBe(true);
});

test("what fails later breaks the stream", async () => {
  const failure = new Error("half-way");
  const { reader, broken } = await open(async (write) => {
    await write(bytes("a"));
    throw failure;
  });
  expect((await reader.read()).value).toEqual(bytes("a"));
  const end = await reader.read().then(
    () => "whole",
    () => "broken",
  );
  expect([end, broken]).toEqual(["broken", [failure]]);
});

test("who goes away stops the making", async () => {
  const ended = Promise.withResolvers<unknown>();
  const { reader, broken } = await open(async (write, gone) => {
    gone.addEventListener("abort", () => ended.resolve(gone.reason));
    for (;;) await write(bytes("more"));
  });
  await reader.read();
  await reader.cancel();
  expect(await ended.promise).toMatchObject({ kind: "timed_out" });
  await Bun.sleep(0);
  expect(broken).toHaveLength(1);
});

test("who takes nothing for too long counts as gone", async () => {
  const ended = Promise.withResolvers<unknown>();
  const { reader, broken } = await open(async (write) => {
    try {
      for (;;) await write(bytes("more"));
    } catch (error) {
      ended.resolve(error);
      throw error;
    }
  }, 20);
  await reader.read();
  expect(await ended.promise).toMatchObject({ kind: "timed_out" });
  expect(await reader.read().catch((error: unknown) => [error])).toEqual([undefined]);
  expect(broken).toHaveLength(1);
});

test("who takes little, and never nothing for long, counts as gone when that adds up", async () => {
  const piece = bytes("x".repeat(100));
  const { reader, broken } = await open(
    async (write) => {
      for (;;) await write(piece);
    },
    400,
    10_000,
  );
  // A piece every 50 ms is a fifth of the pace.
  let taken = 0;
  for (let left = false; !left; taken++) {
    await Bun.sleep(50);
    left = await reader.read().then(
      ({ done }) => done,
      () => true,
    );
  }
  expect(taken).toBeGreaterThan(1);
  expect(broken).toMatchObject([{ kind: "timed_out" }]);
});

test("a wait past the limit, while the process was busy, leaves no time for the next: never a negative one", async () => {
  const timeouts = spyOn(globalThis, "setTimeout");
  const { reader } = await open(
    async (write) => {
      for (;;) await write(bytes("more"));
    },
    20,
    1_000_000,
  );
  const first = reader.read();
  // Longer than the limit, before anything else can run.
  Bun.sleepSync(40);
  expect((await first).value).toEqual(bytes("more"));
  await reader.read().catch(() => undefined);
  await reader.cancel();
  const delays = timeouts.mock.calls.map(([, delay_ms]) => delay_ms);
  timeouts.mockRestore();
  expect(delays.length).toBeGreaterThan(1);
  expect(delays.filter((delay_ms) => delay_ms === undefined || delay_ms < 0)).toEqual([]);
});

test("who keeps the pace takes as long as it takes, however slow the making is", async () => {
  const piece = bytes("x".repeat(1_000));
  const { reader, broken } = await open(
    async (write) => {
      for (let i = 0; i < 40; i++) {
        await Bun.sleep(10);
        await write(piece);
      }
    },
    300,
    1_000,
  );
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    size += value.length;
    await Bun.sleep(10);
  }
  expect([size, broken]).toEqual([40_000, []]);
});
