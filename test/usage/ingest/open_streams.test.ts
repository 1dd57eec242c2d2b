import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { LIMITS as HTTP_LIMITS } from "../../../src/http/limits.ts";
import { LIMITS } from "../../../src/usage/limits.ts";
import { JsonLines } from "../../../src/http/json_lines.ts";
import {
  type Service,
  PASSWORD,
  readAllMetrics,
  startService,
  type Tenant,
  TestClock,
} from "../../support/harness.ts";
import { addSubscription, ms, search } from "../fixtures.ts";
import { eventLines, openStream, sendLines, tokenOf } from "./streams.ts";

// Streams that end otherwise than well, many at once, and what they may take meanwhile.

const SENDER = {
  actor: {
    kind: "key",
    key_id: 1,
    agent_key_id: 1,
    company_id: 1,
    role: "ingest",
    environment: "production",
  },
  address: null,
} as const;
const START = "2026-03-10T12:00:00.000Z";
const good = { external_subscription_id: "acme", usage: 1 };
const clock = new TestClock(START);
const limits = { ...LIMITS };
const http_limits = { ...HTTP_LIMITS };

let service: Service;
let tenant: Tenant;

beforeAll(async () => {
  // Room for three blocks and a half: streams have to wait for one another.
  Object.assign(LIMITS, { usage_pending_events: 3_500 });
  service = await startService({ clock });
});
beforeEach(async () => {
  tenant = await service.addTenant();
  await addSubscription(tenant, "acme");
});
afterEach(() => {
  Object.assign(LIMITS, limits);
  Object.assign(HTTP_LIMITS, http_limits);
  clock.set(START);
});
afterAll(() => service.stop());

async function stored({ api }: Tenant): Promise<number> {
  return (await search(api, { limit: 1 })).meta.total;
}

/** Waits until the company has so many events. */
async function untilStored(count: number): Promise<void> {
  while ((await stored(tenant)) < count) await Bun.sleep(5);
}

const text = (events: readonly unknown[]) => events.map((event) => `${JSON.stringify(event)}\n`).join("");

describe("a stream under way", () => {
  test("is stored block by block, and answered at its end", async () => {
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(2_300)));
    await untilStored(2_000);
    stream.write(text(eventLines(1, {}, 2_301)));
    stream.end();
    expect(await stream.answer).toMatchObject({
      status: 201,
      body: { data: { accepted: 2_301, duplicates: 0 } },
    });
  });

  test("has the time of each of its blocks", async () => {
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(1_000)));
    await untilStored(1_000);
    clock.set("2026-03-10T15:00:00.000Z");
    // Two hours ahead of the first block, and the default of the second.
    stream.write(text([{ ...good, timestamp: ms("2026-03-10T14:00:00Z") }, good]));
    stream.end();
    expect((await stream.answer).status).toBe(201);
    const { data } = await search(tenant.api, { limit: 2 });
    expect(data.map(({ timestamp }: { timestamp: number }) => timestamp)).toEqual([
      ms("2026-03-10T15:00:00Z"),
      ms("2026-03-10T14:00:00Z"),
    ]);
  });

  test("takes subscriptions that were made meanwhile", async () => {
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(1_000)));
    await untilStored(1_000);
    await addSubscription(tenant, "new");
    stream.write(text([{ ...good, external_subscription_id: "new" }]));
    stream.end();
    expect((await stream.answer).body).toEqual({ data: { accepted: 1_001, duplicates: 0 } });
  });

  test("ends with its sender's token", async () => {
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(1_000)));
    await untilStored(1_000);
    const change = { current_password: PASSWORD, new_password: `${PASSWORD}!` };
    expect((await tenant.api("POST", "/me/password", change)).status).toBe(200);
    stream.write(text(eventLines(1_500, {}, 1_001)));
    const { status, body } = await stream.answer;
    expect([status, body.line, body.accepted]).toEqual([401, 1_001, 1_000]);
    expect(body.error).toContain("sign in again; stored are the lines before 1001: 1000 events accepted");
    stream.end();
  });

  test("is answered at its broken line, while it is still being sent", async () => {
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(1_500)));
    stream.write("{\n");
    const { status, body } = await stream.answer;
    expect([status, body.line, body.accepted]).toEqual([422, 1_501, 1_000]);
    stream.write(text(eventLines(1_500, {}, 1_501)));
    stream.end();
    expect(await stored(tenant)).toBe(1_000);
  });

  test("that sends too little in its time is a 408", async () => {
    Object.assign(HTTP_LIMITS, { line_block_ms: 1_000 });
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(1_300)));
    const pulse = setInterval(() => stream.write("\n"), 20);
    const { status, body } = await stream.answer;
    clearInterval(pulse);
    stream.end();
    expect([status, body.line, body.accepted]).toEqual([408, 1_001, 1_000]);
    expect(await stored(tenant)).toBe(1_000);
  });

  test.each([
    ["with a length", (bytes: number) => `Content-Length: ${bytes}\r\n\r\n`, (part: string) => part],
    [
      "in chunks",
      () => "Transfer-Encoding: chunked\r\n\r\n",
      (part: string) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`,
    ],
  ])("whose sender goes away, %s, leaves whole blocks", async (_, head, chunk) => {
    const token = await tokenOf(service, tenant.admin_email);
    const part = text(eventLines(2_700)).slice(0, -20);
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: Number(new URL(service.url).port),
      socket: { data: () => undefined },
    });
    const lines = [
      "POST /api/v1/usage/events HTTP/1.1",
      "Host: localhost",
      `Authorization: Bearer ${token}`,
      "Content-Type: application/x-ndjson",
      head(2 * part.length),
    ];
    let unsent = Buffer.from(lines.join("\r\n") + chunk(part));
    while (unsent.length > 0) {
      unsent = unsent.subarray(Math.max(0, socket.write(unsent)));
      await Bun.sleep(1);
    }
    await untilStored(2_000);
    socket.terminate();
    // The rest would be stored by now, if it ever were: what comes after it is.
    expect((await sendLines(tenant.api, [good])).status).toBe(201);
    const body = await readAllMetrics(service);
    expect(body).toContain('route="/api/v1/usage/events",status="400"} ');
    expect(body).not.toContain('route="/api/v1/usage/events",status="500"} ');
    expect(await stored(tenant)).toBe(2_001);
  });
});

describe("many streams", () => {
  test("of two companies, twenty at once, with room for three blocks: they wait, and all are stored", async () => {
    const other = await service.addTenant();
    await addSubscription(other, "acme");
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        sendLines((i % 2 === 0 ? tenant : other).api, eventLines(1_700, { usage: i }, i * 10_000 + 1)),
      ),
    );
    expect(answers.map(({ status, body }) => [status, body.data])).toEqual(
      answers.map(() => [201, { accepted: 1_700, duplicates: 0 }]),
    );
    expect([await stored(tenant), await stored(other)]).toEqual([17_000, 17_000]);
    const [total] = (await search(other.api, { aggregate: true })).data;
    expect(total.total_usage).toBe(1_700 * (1 + 3 + 5 + 7 + 9 + 11 + 13 + 15 + 17 + 19));
  });

  test("that wait too long are a 503 that tells how far they came", async () => {
    Object.assign(LIMITS, { usage_stream_wait_ms: 0 });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => sendLines(tenant.api, eventLines(2_000, {}, i * 10_000 + 1))),
    );
    const refused = answers.filter(({ status }) => status === 503);
    expect(refused.length).toBeGreaterThan(0);
    for (const { body, headers } of refused) {
      expect(headers.get("retry-after")).toBe("1");
      expect(body.error).toStartWith("Cannot store events now");
      expect(body.line).toBe(body.accepted + 1);
    }
    const accepted = answers.map(({ body }) => body.accepted ?? body.data.accepted);
    expect(await stored(tenant)).toBe(accepted.reduce((sum, count) => sum + count, 0));
  });

  test("share the room for bodies: without any, they are a 503", async () => {
    const stream = await openStream(service, tenant);
    stream.write(text(eventLines(1_200)));
    await untilStored(1_000);
    Object.assign(HTTP_LIMITS, { bodies_bytes: 20_000 });
    stream.write(text(eventLines(500, { metadata: { filler: "x".repeat(1_000) } }, 1_201)));
    const { status, body, headers } = await stream.answer;
    expect([status, body.line, body.accepted]).toEqual([503, 1_001, 1_000]);
    expect(headers.get("retry-after")).toBe("1");
    stream.end();
    Object.assign(HTTP_LIMITS, http_limits);
    // All of it was given back.
    expect((await sendLines(tenant.api, eventLines(5_000))).status).toBe(201);
  });
});

test("a store that fails is a 503 that tells how far the stream came", async () => {
  const own = await startService({ clock });
  await addSubscription(own, "acme");
  const stream = await openStream(own, own);
  stream.write(text(eventLines(1_000)));
  while ((await stored(own)) < 1_000) await Bun.sleep(5);
  Object.assign(LIMITS, { usage_stream_wait_ms: 250 });
  await own.deps.usage.close();
  stream.write(text(eventLines(1_000, {}, 1_001)));
  const { status, body, headers } = await stream.answer;
  expect([status, body.line, body.accepted]).toEqual([503, 1_001, 1_000]);
  expect(headers.get("retry-after")).toBe("1");
  stream.end();
  await own.stop();
});

test("nothing is read of a body beyond the block that is asked for", async () => {
  const line = Buffer.from(text([good]).repeat(250));
  let pulled = 0;
  const body = new ReadableStream(
    {
      pull(controller) {
        pulled++;
        controller.enqueue(line);
      },
    },
    { highWaterMark: 0 },
  );
  const lines = new JsonLines(new Request("http://localhost/", { method: "POST", body }), SENDER, 1_000);
  for (const blocks of [1, 2, 3]) {
    expect((await lines.nextBlock()).length).toBe(1_000);
    await Bun.sleep(5);
    expect(pulled).toBe(4 * blocks);
  }
  lines.close();
});

test("a block ends with the bytes of a JSON body, too", async () => {
  const large = text([{ ...good, metadata: { filler: "x".repeat(15_000) } }]);
  const request = new Request("http://localhost/", { method: "POST", body: large.repeat(500) });
  const lines = new JsonLines(request, SENDER, 1_000);
  const first = await lines.nextBlock();
  expect(first.length).toBe(Math.ceil(HTTP_LIMITS.body_bytes / (large.length - 1)));
  expect((await lines.nextBlock()).length).toBe(500 - first.length);
  expect(await lines.nextBlock()).toEqual([]);
  lines.close();
});
