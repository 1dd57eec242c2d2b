import { beforeAll, expect, spyOn, test } from "bun:test";
import { existsSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LIMITS } from "../../../src/usage/limits.ts";
import { PASSWORD, type Json, type Tenant, useService } from "../../support/harness.ts";
import { runAtAll } from "../../support/jobs.ts";
import { addSubscription, search, uuid } from "../fixtures.ts";

const service = useService({ timezone: "Asia/Kuala_Lumpur" });
let other: Tenant;

beforeAll(async () => {
  await addSubscription(service, "s1");
  await addSubscription(service, "s2");
  other = await service.addTenant();
  await addSubscription(other, "s1");
});

const FILES = "/usage/imports/files";

interface Sent {
  status: number;
  body: Json;
}

const upload = (
  content: string,
  { of = service, type = "text/csv", name = "usage.csv" }: { of?: Tenant; type?: string; name?: string } = {},
): Promise<Sent> =>
  of.api("POST", `${FILES}?file_name=${encodeURIComponent(name)}`, content, { "content-type": type });

/** Bytes that are no text in UTF-8. */
async function uploadBytes(content: Uint8Array): Promise<Sent> {
  const { body } = await service.anonymous("POST", "/login", {
    email: service.admin_email,
    password: PASSWORD,
  });
  const response = await fetch(`${service.url}/api/v1${FILES}?file_name=bytes.csv`, {
    method: "POST",
    headers: { authorization: `Bearer ${body.token}`, "content-type": "text/csv" },
    body: content,
  });
  return { status: response.status, body: await response.json() };
}

async function uploaded(content: string, more: Parameters<typeof upload>[1] = {}): Promise<Json> {
  const { status, body } = await upload(content, more);
  if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}

const run = ({ api }: Tenant, id: number, matching: Json, more: Json = {}) =>
  api("POST", `/usage/imports/${id}/run`, { matching, ...more });

/** Runs an upload to its end. */
async function finished(of: Tenant, id: number, matching: Json, more: Json = {}): Promise<Json> {
  const { status, body } = await run(of, id, matching, more);
  if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
  return ended(of, id);
}

async function ended({ api }: Tenant, id: number): Promise<Json> {
  for (;;) {
    await runAtAll(service, "usage_uploads");
    const { data } = (await api("GET", `/usage/imports/${id}`)).body;
    if (data.status !== "running") return data;
    await Bun.sleep(50);
  }
}

/** What lies on the disks of all instances. */
const files = (): string[] =>
  service.instances
    .map(({ config }) => join(config.data_dir, "usage_uploads"))
    .flatMap((folder) => (existsSync(folder) ? readdirSync(folder) : []));

const rejectedOf = async (id: number): Promise<string> =>
  (await service.api("GET", `/usage/imports/${id}/rejected`)).body;

const PLAIN = { subscription: { column: "who" }, timestamp: { column: "at" }, usage: { column: "amount" } };

const eventsOf = async (subscription: string, month: string): Promise<Json[]> =>
  (await search(service.api, { external_subscription_ids: [subscription], month, sort_order: "asc" })).data;

test("a file is sampled, judged and imported, and what was imported is stored once", async () => {
  const lines = ["who,at,amount,note", "s1,2025-01-01T00:00:00Z,0.1,a", "s2,1735689600000,2.000001,b"];
  const { id, ...made } = await uploaded(lines.join("\n"), { name: "january.csv" });
  expect(made).toMatchObject({
    file_name: "january.csv",
    format: "csv",
    lines: 3,
    status: "uploaded",
    has_file: true,
    columns: ["who", "at", "amount", "note"],
    sample: [
      ["s1", "2025-01-01T00:00:00Z", "0.1", "a"],
      ["s2", "1735689600000", "2.000001", "b"],
    ],
    matching: null,
  });
  const judged = await finished(service, id, PLAIN, { dry_run: true });
  expect(judged).toMatchObject({ status: "finished", dry_run: true, rows: 2, accepted: 2, rejected: 0 });
  expect(await eventsOf("s1", "2025-01")).toEqual([]);
  const imported = await finished(service, id, PLAIN);
  expect(imported).toMatchObject({ rows: 2, accepted: 2, duplicates: 0, rejected: 0, has_file: false });
  expect(imported.sample).toEqual([]);
  expect(await eventsOf("s1", "2025-01")).toMatchObject([{ usage: 0.1, metadata: {} }]);
  expect((await run(service, id, PLAIN)).body.error).toContain("its file is gone");
  // Sent again, also under another name, it is known.
  const again = await uploaded(lines.join("\n"), { name: "again.csv" });
  expect(await finished(service, again.id, PLAIN)).toMatchObject({ accepted: 0, duplicates: 2 });
});

test("sums and products are exact, constants and metadata are as they were matched", async () => {
  const rows = [
    "who,at,input,output,rate,model",
    "s1,2025-02-01T00:00:00Z,0.1,0.2,3,small",
    "s1,2025-02-02T00:00:00Z,900000000.000001,0,1,large",
    "s1,2025-02-03T00:00:00Z,1,2,1.5,",
    "s1,2025-02-04T00:00:00Z,1,two,1,small",
    "s1,2025-02-05T00:00:00Z,0.1234567,1,1,small",
  ];
  const { id } = await uploaded(rows.join("\n"));
  const matching = {
    subscription: { constant: "s1" },
    timestamp: { column: "at" },
    usage: {
      sum: [
        { column: "input" },
        { product: [{ column: "output" }, { column: "rate" }, { constant: "1.5" }] },
      ],
    },
    metadata: {
      keys: [
        { key: "source", constant: "file" },
        { key: "model", column: "model" },
        { key: "rate", column: "rate", as: "number" },
      ],
    },
  };
  const done = await finished(service, id, matching);
  expect(done).toMatchObject({ rows: 5, accepted: 3, rejected: 2 });
  const events = await eventsOf("s1", "2025-02");
  expect(events.map(({ usage }) => usage)).toEqual([1, 900_000_000.000001, 5.5]);
  expect(events.map(({ metadata }) => metadata)).toEqual([
    { model: "small", rate: 3, source: "file" },
    { model: "large", rate: 1, source: "file" },
    { rate: 1.5, source: "file" },
  ]);
  const [head, first, second] = (await rejectedOf(id)).trim().split("\r\n");
  expect(head).toBe("row,line,reason");
  expect(first).toStartWith("4,,");
  expect(first).toContain("and is 1 + two × 1 × 1.5");
  expect(second).toStartWith("5,,");
});

test("rows are judged one by one, lines that are none are named, and the reasons are those of ingest", async () => {
  const rows = [
    "who,at,amount,key",
    `s1,2025-03-01T00:00:00Z,1,${uuid(1)}`,
    `nobody,2025-03-01T00:00:00Z,1,${uuid(2)}`,
    `s1,yesterday,1,${uuid(3)}`,
    `s1,2025-03-01T00:00:00Z,much,${uuid(4)}`,
    `s1,2019-03-01T00:00:00Z,1,${uuid(5)}`,
    `s1,2025-03-01T00:00:00Z,1,${uuid(6)},more,than,columns`,
    "s1,2025-03-01T00:00:00Z,1,key",
  ];
  const { id } = await uploaded(rows.join("\n"));
  const matching = { ...PLAIN, id: { column: "key" } };
  const judged = await finished(service, id, matching, { dry_run: true });
  const named = await rejectedOf(id);
  const done = await finished(service, id, matching);
  expect(done).toMatchObject({ rows: 6, accepted: 1, rejected: 6 });
  expect(judged).toMatchObject({ rows: 6, accepted: 1, rejected: 6, has_file: true });
  expect(await rejectedOf(id)).toBe(named);
  const reasons = named.trim().split("\r\n").slice(1);
  expect(reasons.map((line) => line.split(",").slice(0, 2).join(","))).toEqual([
    "2,",
    "3,",
    "4,",
    "5,",
    "6,",
    ",7",
  ]);
  expect(named).toContain("subscription");
  expect(named).toContain("must be whole ms or an ISO 8601 date-time");
  expect(named).toContain("id must be a UUID");
});

test("NDJSON: keys are columns, and the wire's subscription ids are understood", async () => {
  const lines = [
    { subscription_id: `${service.company_id}:s2`, at: 1_743_465_600_000, n: 2, m: { model: "x" } },
    { subscription_id: `${service.company_id}:s2`, at: "2025-04-02T00:00:00+08:00", n: "3.5", m: { a: [1] } },
    { subscription_id: `${other.company_id}:s1`, at: "2025-04-02T00:00:00Z", n: 1 },
  ];
  const content = lines.map((line) => JSON.stringify(line)).join("\n");
  const { id, columns } = await uploaded(content, { type: "application/x-ndjson", name: "a.ndjson" });
  expect(columns.toSorted()).toEqual(["at", "m", "n", "subscription_id"]);
  const done = await finished(service, id, {
    subscription: { column: "subscription_id" },
    subscription_field: "subscription_id",
    timestamp: { column: "at" },
    usage: { column: "n" },
    metadata: { column: "m" },
  });
  expect(done).toMatchObject({ rows: 3, accepted: 2, rejected: 1 });
  const events = await eventsOf("s2", "2025-04");
  expect(events.map(({ usage, metadata }) => [usage, metadata])).toEqual([
    [2, { model: "x" }],
    [3.5, { a: [1] }],
  ]);
  expect((await search(other.api, { month: "2025-04" })).data).toEqual([]);
});

test("SQL in names and constants is text", async () => {
  const column = `a"), (SELECT 1)) --`;
  const constant = `x' || (SELECT 'y') || '`;
  const content = `who,at,"${column.replaceAll('"', '""')}"\ns1,2025-05-01T00:00:00Z,4\n`;
  const { id, columns } = await uploaded(content);
  expect(columns).toContain(column);
  const done = await finished(service, id, {
    ...PLAIN,
    usage: { product: [{ column }, { constant: "2" }] },
    metadata: { keys: [{ key: `k'"`, constant }] },
  });
  expect(done).toMatchObject({ accepted: 1, rejected: 0 });
  expect(await eventsOf("s1", "2025-05")).toMatchObject([{ usage: 8, metadata: { [`k'"`]: constant } }]);
});

test("what a matching gets wrong is named by field", async () => {
  const { id } = await uploaded("who,at,amount\ns1,2025-06-01T00:00:00Z,1\n");
  const problemsOf = async (matching: Json): Promise<string[]> => {
    const { status, body } = await run(service, id, matching);
    expect(status).toBe(422);
    return body.details.map(({ path }: Json) => path);
  };
  expect(await problemsOf({ ...PLAIN, usage: { column: "Amount" } })).toEqual(["/matching/usage/column"]);
  expect(await problemsOf({ ...PLAIN, usage: {} })).toEqual(["/matching/usage"]);
  expect(await problemsOf({ ...PLAIN, usage: { column: "amount", constant: "1" } })).toEqual([
    "/matching/usage",
  ]);
  expect(
    await problemsOf({ ...PLAIN, usage: { sum: [{ column: "amount" }, { product: [{}, {}] }] } }),
  ).toEqual(["/matching/usage/sum/1/product/0", "/matching/usage/sum/1/product/1"]);
  expect(await problemsOf({ ...PLAIN, usage: { sum: [{ column: "amount" }, { constant: "1e5" }] } })).toEqual(
    ["/matching/usage/sum/1/constant"],
  );
  expect(await problemsOf({ ...PLAIN, subscription: { column: "who", constant: "s1" } })).toEqual([
    "/matching/subscription",
  ]);
  const twice = [
    { key: "a", column: "who" },
    { key: "a", constant: "x" },
  ];
  expect(await problemsOf({ ...PLAIN, metadata: { keys: twice } })).toEqual([
    "/matching/metadata/keys/1/key",
  ]);
  expect((await service.api("DELETE", `/usage/imports/${id}`)).status).toBe(200);
});

test("what is no such file is refused in words, and leaves nothing", async () => {
  const before = files();
  const refusals: [string | Uint8Array, Json, number, string][] = [
    ["", {}, 422, "empty"],
    ["a,b\n", { type: "text/plain" }, 415, "text/csv"],
    [Uint8Array.of(0xff, 0xfe, 0x41, 0), {}, 400, "UTF-16"],
    [Uint8Array.of(0x61, 0x2c, 0x62, 0x0a, 0xe4, 0x2c, 0x31), {}, 400, "line 2 is not UTF-8"],
    [Array.from({ length: 150 }, (_, i) => `c${i}`).join(",") + "\n", {}, 400, "columns"],
    ["no json\n", { type: "application/x-ndjson" }, 400, "no columns"],
  ];
  for (const [content, more, status, reason] of refusals) {
    const refused = await (typeof content === "string" ? upload(content, more) : uploadBytes(content));
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([status, expect.stringContaining(reason)]);
    expect(JSON.stringify(refused.body)).not.toContain("usage_uploads");
  }
  const { status } = await upload("a,b\n1,2\n", { name: "line\nbreak.csv" });
  expect(status).toBe(422);
  expect(files()).toEqual(before);
});

test("an upload that is deleted leaves the disk", async () => {
  const before = files();
  const kept = await uploaded("a,b\n1,2\n");
  expect(files()).toHaveLength(before.length + 1);
  await service.api("DELETE", `/usage/imports/${kept.id}`);
  expect(files()).toEqual(before);
});

test("a run is stopped and goes on where it was; another matching begins anew", async () => {
  const rows = Array.from(
    { length: 2 * LIMITS.usage_block_slice + 10 },
    (_, i) => `s2,${1_751_328_000_000 + i},1`,
  );
  const { id } = await uploaded(`who,at,amount\n${rows.join("\n")}\n`);
  expect((await service.api("POST", `/usage/imports/${id}/stop`)).status).toBe(409);
  expect((await run(service, id, PLAIN)).status).toBe(202);
  expect((await run(service, id, PLAIN)).body.error).toContain("it is running");
  const job = runAtAll(service, "usage_uploads");
  let seen: Json;
  do seen = (await service.api("GET", `/usage/imports/${id}`)).body.data;
  while (seen.rows === 0 && seen.status === "running");
  const stopped = (await service.api("POST", `/usage/imports/${id}/stop`)).body.data;
  await job;
  expect(stopped).toMatchObject({ status: "stopped", has_file: true });
  expect(stopped.rows % LIMITS.usage_block_slice).toBe(0);
  expect(stopped.rows).toBeGreaterThan(0);
  const done = await finished(service, id, PLAIN);
  expect(done).toMatchObject({ status: "finished", rows: rows.length, rejected: 0 });
  expect(done.accepted + done.duplicates).toBe(rows.length);
  const [sum] = (
    await search(service.api, { external_subscription_ids: ["s2"], month: "2025-07", aggregate: true })
  ).data;
  expect(sum).toMatchObject({ event_count: rows.length, total_usage: rows.length });
});

test("a step that was stored but not written down is stored once", async () => {
  const rows = Array.from(
    { length: LIMITS.usage_block_slice + 10 },
    (_, i) => `s1,${1_754_006_400_000 + i},1`,
  );
  const { id } = await uploaded(`who,at,amount\n${rows.join("\n")}\n`);
  await run(service, id, PLAIN);
  // As after a kill between the two stores.
  let loads = 0;
  const killing = service.instances.map(({ usage }) => {
    const load = usage.load.bind(usage);
    return spyOn(usage, "load").mockImplementation(async (...given) => {
      const loaded = await load(...given);
      if (loads++ === 1) throw new Error("killed");
      return loaded;
    });
  });
  const done = await ended(service, id);
  for (const one of killing) one.mockRestore();
  expect(loads).toBeGreaterThan(1);
  expect(done).toMatchObject({
    status: "finished",
    rows: rows.length,
    accepted: LIMITS.usage_block_slice,
    duplicates: 10,
  });
});

test("a company's files are its own, and only who writes usage sees them", async () => {
  const { id } = await uploaded("who,at,amount\ns1,2025-09-01T00:00:00Z,1\n");
  for (const [method, path, body] of [
    ["GET", `/usage/imports/${id}`],
    ["GET", `/usage/imports/${id}/rejected`],
    ["POST", `/usage/imports/${id}/run`, { matching: PLAIN }],
    ["POST", `/usage/imports/${id}/stop`, {}],
    ["DELETE", `/usage/imports/${id}`],
  ] as const)
    expect([path, (await other.api(method, path, body)).status]).toEqual([path, 404]);
  expect((await other.api("GET", "/usage/imports/files")).body.data).toEqual([]);
  const listed = (await service.api("GET", "/usage/imports/files")).body.data;
  expect(listed[0]).toMatchObject({ id, status: "uploaded" });
  expect(listed[0]).not.toHaveProperty("sample");
  const analyst = { email: "uploads@example.com", password: PASSWORD, role: "analyst" };
  await service.api("POST", "/users", analyst);
  const api = await service.signIn(analyst.email);
  expect((await api("GET", `/usage/imports/${id}`)).status).toBe(403);
  expect((await service.api("DELETE", `/usage/imports/${id}`)).status).toBe(200);
  expect((await service.api("GET", `/usage/imports/${id}`)).status).toBe(404);
});

test("a company keeps so many files and no more; the audit log says who imported", async () => {
  const { total } = (await service.api("GET", "/usage/imports/files")).body.meta;
  for (let kept = total; kept < LIMITS.usage_uploads_kept; kept++) await uploaded(`who\n${kept}\n`);
  const refused = await upload("who\n1\n");
  expect([refused.status, refused.body.error]).toEqual([409, expect.stringContaining("delete one")]);
  const { data } = (await service.api("GET", "/audit-log?operation=run_usage_upload&limit=1")).body;
  expect(data[0]).toMatchObject({ operation: "run_usage_upload", target: { type: "usage_upload" } });
});

test("what a killed process left of files is removed once no upload can have it", async () => {
  const folder = join(service.deps.config.data_dir, "usage_uploads");
  const { data } = (await service.api("GET", `${FILES}?page=1&limit=1`)).body;
  // There are as many as may be kept.
  await service.api("DELETE", `/usage/imports/${data[0].id}`);
  await uploaded("who\nkept\n");
  const two_hours_ago = Date.now() / 1_000 - 2 * 3_600;
  for (const name of readdirSync(folder)) utimesSync(join(folder, name), two_hours_ago, two_hours_ago);
  // What was deleted at another instance goes.
  await runAtAll(service, "usage_uploads_prune");
  const kept = readdirSync(folder);
  const strays = [1, 2].map((number) => `${service.company_id}-${uuid(number)}`);
  const [cut = "", whole = ""] = strays;
  for (const name of [`${cut}.part`, whole]) writeFileSync(join(folder, name), "who\n");
  await runAtAll(service, "usage_uploads_prune");
  expect(readdirSync(folder).toSorted()).toEqual([...kept, `${cut}.part`, whole].toSorted());
  for (const name of [`${cut}.part`, whole]) utimesSync(join(folder, name), two_hours_ago, two_hours_ago);
  await runAtAll(service, "usage_uploads_prune");
  expect(readdirSync(folder).toSorted()).toEqual(kept.toSorted());
});
