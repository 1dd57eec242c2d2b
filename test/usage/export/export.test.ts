import { beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { SHARED_LIMITS } from "../../../src/core/limits.ts";
import { LIMITS } from "../../../src/usage/limits.ts";
import { type Service, type Json, PASSWORD, type Tenant } from "../../support/harness.ts";
import {
  CSV_HEADER,
  type ExportedEvent,
  parseCsv,
  readCsv,
  readNdjson,
  readParquet,
} from "../../usage_store/export_files.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { modelEvent } from "../../usage_store/arbitrary_events.ts";
import { addSubscription, ms, search, send, uuid } from "../fixtures.ts";
import { useSearchFixture } from "../search/fixtures.ts";

const FORMATS = ["csv", "ndjson", "parquet"] as const;
type Format = (typeof FORMATS)[number];

const fixture = useSearchFixture();
let token: string;

beforeAll(async () => {
  token = await signIn(fixture.service, fixture.service.admin_email);
});

async function signIn(service: Service, email: string): Promise<string> {
  return (await service.anonymous("POST", "/login", { email, password: PASSWORD })).body.token;
}

/** Exports and gives the answer as it comes. */
function ask(body: unknown, path = "/usage/export", bearer = token): Promise<Response> {
  return fetch(`${fixture.service.url}/api/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function read(format: Format, answer: Response): Promise<ExportedEvent[]> {
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
  if (format === "csv") return readCsv(await answer.text());
  if (format === "ndjson") return readNdjson(await answer.text());
  const file = join(fixture.service.deps.config.data_dir, "taken.parquet");
  await Bun.write(file, await answer.bytes());
  return readParquet(file);
}

/** An event of a search as a file has it. */
function inFile({ usage, metadata, ...event }: Json): ExportedEvent {
  return { ...event, usage: usage === 1e-6 ? "0.000001" : String(usage), metadata: JSON.stringify(metadata) };
}

describe("an export", () => {
  test("is what a search finds, in its order, in every format", async () => {
    const { a1, b1 } = fixture.subscriptions;
    const searches: Json[] = [
      {},
      { sort_order: "asc" },
      { sort_by: "usage" },
      { sort_by: "usage", sort_order: "asc" },
      { subscription_ids: [a1.id, b1.id], start_time: ms("2026-02-01T00:00Z") },
      { external_subscription_ids: ["a2", "nobody"] },
      { client_ids: [b1.client.id], relative: "last_30d" },
      { product_ids: [a1.product.id], relative: "last_month" },
      { metadata: { region: "eu" } },
      { metadata_search: "% OFF", min_usage: -1, max_usage: 0 },
      { filters: [{ field: "metadata:region", op: "present" }] },
      { end_time: 0 },
    ];
    for (const wanted of searches) {
      const found = (await search(fixture.service.api, { ...wanted, limit: 200 })).data.map(inFile);
      for (const format of FORMATS) {
        const file = await read(format, await ask({ ...wanted, format }));
        const sorted =
          format !== "parquet" || wanted.sort_by !== undefined || wanted.sort_order !== undefined;
        const byId = (a: ExportedEvent, b: ExportedEvent) => (a.id < b.id ? -1 : 1);
        expect([wanted, format, sorted ? file : file.toSorted(byId)]).toEqual([
          wanted,
          format,
          sorted ? found : found.toSorted(byId),
        ]);
      }
    }
  });

  test("is a file with a name and a type", async () => {
    const types = {
      csv: "text/csv; charset=utf-8; header=present",
      ndjson: "application/x-ndjson",
      parquet: "application/vnd.apache.parquet",
    };
    for (const format of FORMATS) {
      const { headers } = await ask({ format });
      expect(headers.get("content-type")).toBe(types[format]);
      expect(headers.get("content-disposition")).toBe(
        `attachment; filename="usage-20260309T163000Z.${format}"`,
      );
      expect(headers.get("x-request-id")).toBeString();
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  test("gives client users their own, and each company its own", async () => {
    const { service, other, client } = fixture;
    const own = (await search(client, {}, "/my/usage/search")).data.map(inFile);
    expect(own).toHaveLength(5);
    const mine = await client("POST", "/my/usage/export", { format: "csv" });
    expect(readCsv(mine.body)).toEqual(own);
    expect((await client("POST", "/usage/export", { format: "csv" })).status).toBe(403);
    expect((await ask({ format: "csv" }, "/my/usage/export")).status).toBe(403);
    const theirs = await ask({ format: "ndjson" }, "/usage/export", await signIn(service, other.admin_email));
    expect((await read("ndjson", theirs)).map(({ subscription_id }) => subscription_id)).toEqual([
      `${other.company_id}:a1`,
    ]);
  });

  test("is refused with the field's name, before anything is sent", async () => {
    const { service, foreign, subscriptions, client } = fixture;
    const cases: [unknown, number, string][] = [
      [{}, 422, "format"],
      [{ format: "xlsx" }, 422, "format"],
      [{ format: "csv", page: 1 }, 422, "page"],
      [{ format: "csv", limit: 10 }, 422, "limit"],
      [{ format: "csv", cursor: "x" }, 422, "cursor"],
      [{ format: "csv", aggregate: true }, 422, "aggregate"],
      [{ format: "csv", group_by: "day" }, 422, "group_by"],
      [{ format: "csv", sort_by: "id" }, 422, "sort_by"],
      [{ format: "csv", subscription_ids: [foreign.id] }, 403, "subscription_ids"],
      [{ format: "csv", client_ids: [999_999] }, 403, "client_ids"],
    ];
    for (const [body, status, named] of cases) {
      const answer = await service.api("POST", "/usage/export", body);
      expect([body, answer.status, answer.body.error]).toEqual([
        body,
        status,
        expect.stringContaining(named),
      ]);
    }
    const mine = { format: "csv", subscription_ids: [subscriptions.b1.id] };
    expect((await client("POST", "/my/usage/export", mine)).status).toBe(403);
    expect((await service.anonymous("POST", "/usage/export", { format: "csv" })).status).toBe(401);
    const analyst = await service.addUser(service, "analyst");
    expect((await analyst("POST", "/usage/export", { format: "csv" })).status).toBe(200);
  });

  test("holds hostile texts: every cell arrives, and none begins a formula", async () => {
    const tenant = await fixture.service.addTenant();
    const bearer = await signIn(fixture.service, tenant.admin_email);
    const names = ["=1+1", "+1", "-1", "@sum", '"', 'a","b', "é\u2028x", "’;DROP"];
    for (const [i, name] of names.entries()) {
      await addSubscription(tenant, name);
      const metadata = { "=cmd|' /C calc'!A0": `=${name}`, "": [name, null, { "@": -1 }] };
      const event = { id: uuid(i), external_subscription_id: name, timestamp: i, usage: -i, metadata };
      const sent = await send(tenant.api, { ...event, timestamp: ms("2024-01-01T00:00Z") + i });
      expect(sent.status).toBe(201);
    }
    const found = (await search(tenant.api, { limit: 200 })).data;
    expect(found.map(({ subscription_id }: Json) => subscription_id)).toEqual(
      names.map((name) => `${tenant.company_id}:${name}`).toReversed(),
    );
    for (const format of FORMATS) {
      const wanted = { format, sort_by: "timestamp" };
      const file = await read(format, await ask(wanted, "/usage/export", bearer));
      const parsed = file.map(({ metadata, ...event }) => ({ ...event, metadata: JSON.parse(metadata) }));
      expect(parsed).toEqual(found.map((event: Json) => ({ ...event, usage: String(event.usage) })));
    }
    const [header, ...records] = parseCsv(
      await (await ask({ format: "csv" }, "/usage/export", bearer)).text(),
    );
    expect(header).toEqual(CSV_HEADER);
    const cells = records.flatMap((record) =>
      record.filter((_, column) => column !== CSV_HEADER.indexOf("usage")),
    );
    expect(cells).toHaveLength(names.length * 5);
    expect(cells.filter((cell) => /^[=+\-@\t\r\n]/.test(cell))).toEqual([]);
  });
});

describe("an export that is long", () => {
  let tenant: Tenant;
  let bearer: string;
  let other_bearer: string;
  const EVENTS = 40_000;
  const ROUNDS = TESTS_ALL ? 3 : 1;
  const LINE_FEED = 10;

  beforeAll(async () => {
    [tenant, bearer] = await addLong();
    [, other_bearer] = await addLong();
  });

  async function addLong(): Promise<[Tenant, string]> {
    const added = await fixture.service.addTenant();
    const { id } = await addSubscription(added, "long");
    const {
      object: _,
      millionths: __,
      ...event
    } = modelEvent({
      subscription_id: id,
      object: { note: "x".repeat(900) },
    });
    for (let i = 0; i < EVENTS; i += 10_000) {
      const events = Array.from({ length: 10_000 }, () => ({ ...event, id: crypto.randomUUID() }));
      await fixture.service.deps.usage.append(added.company_id, events, 1_760_000_000_000);
    }
    return [added, await signIn(fixture.service, added.admin_email)];
  }

  /** How many lines a whole export has: what they hold is tested with fewer. */
  async function countWhole(by: string): Promise<number> {
    const answer = await ask({ format: "ndjson" }, "/usage/export", by);
    expect(answer.status).toBe(200);
    const bytes = await answer.bytes();
    let lines = 0;
    for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) lines++;
    expect(bytes.at(-1)).toBe(LINE_FEED);
    return lines;
  }

  /** Asks over a bare connection, and takes only the beginning of the answer. */
  async function hold(format: Format, by = bearer) {
    const { hostname, port } = new URL(fixture.service.url);
    const socket = connect(Number(port), hostname);
    const closed = Promise.withResolvers<void>();
    let text = "";
    const begun = Promise.withResolvers<void>();
    socket.on("data", (bytes) => {
      text += bytes.toString("latin1");
      if (text.includes("\r\n\r\n")) begun.resolve();
    });
    socket.on("close", () => closed.resolve());
    socket.on("error", () => undefined);
    const body = JSON.stringify({ format });
    socket.write(
      `POST /api/v1/usage/export HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${by}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await begun.promise;
    socket.pause();
    return { socket, closed: closed.promise, text: () => text };
  }

  test("gives its place back when its receiver goes away, and does not block others meanwhile", async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const held = await Promise.all([hold("ndjson"), hold("ndjson", other_bearer)]);
      expect((await search(tenant.api, { limit: 1 })).meta.total).toBe(EVENTS);
      for (const { socket } of held) socket.destroy();
      expect(await countWhole(bearer)).toBe(EVENTS);
    }
  });

  test("is a 429 when too many of the company wait already", async () => {
    const held = [await hold("csv")];
    const asked = Array.from({ length: LIMITS.usage_exports_waiting_company + 1 }, () =>
      ask({ format: "csv", end_time: 0 }, "/usage/export", bearer),
    );
    const first = await Promise.race(asked);
    expect([first.status, first.headers.get("retry-after")]).toEqual([429, "1"]);
    // Another company's goes on beside them.
    expect(await countWhole(other_bearer)).toBe(EVENTS);
    for (const { socket } of held) socket.destroy();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 200, 429]);
  });

  test("of a receiver that takes a little now and then is broken off, and its place is free", async () => {
    const limits = { ...SHARED_LIMITS };
    Object.assign(SHARED_LIMITS, { download_idle_ms: 500, download_bytes_s: 50_000_000 });
    const { socket, closed, text } = await hold("ndjson");
    // Some hundred kilobytes a second would be enough for a receiver that is only asked to take something. A sip is what
    // a turn of the event loop takes, of any size: few are far from the whole.
    const sip = setInterval(() => {
      socket.resume();
      setImmediate(() => socket.pause());
    }, 200);
    socket.once("close", () => clearInterval(sip));
    await closed;
    Object.assign(SHARED_LIMITS, limits);
    expect(text().split(":long").length).toBeLessThan(EVENTS);
    expect(await countWhole(bearer)).toBe(EVENTS);
  });

  // The last: the store is closed.
  test("breaks off when the service stops, and does not look whole", async () => {
    const held = await Promise.all([hold("csv"), hold("ndjson", other_bearer)]);
    for (const { usage } of fixture.service.instances) await usage.close();
    for (const { socket, closed, text } of held) {
      socket.resume();
      await closed;
      expect(text()).toStartWith("HTTP/1.1 200");
      expect(text().toLowerCase()).toContain("transfer-encoding: chunked");
      expect(text()).not.toEndWith("0\r\n\r\n");
      expect(text().split(":long").length).toBeLessThan(EVENTS);
    }
  });
});
