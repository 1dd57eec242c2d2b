// ClickHouse's engine behind a part of its HTTP interface, for @clickhouse/client. It serves one statement at a time.
//
//   bun engine_server.ts FOLDER    prints its port

import { join } from "node:path";

/** The parts of the package chdb that are used: its settings and tables are those of one session. */
interface Session {
  queryAsync(sql: string, options: { format: string }): Promise<{ bytes(): Uint8Array }>;
}

const packaged = join(import.meta.dir, "node_modules/chdb");
// By its path, when it runs: the project's own packages have no engine.
const { Session } = require(packaged) as { Session: new (folder: string) => Session };
const folder = process.argv[2] ?? "";
const session = new Session(join(folder, "data"));

/** Parameters of a request that are no settings. */
const NO_SETTINGS = new Set([
  "query",
  "query_id",
  "database",
  "default_format",
  "session_id",
  "user",
  "password",
  "enable_http_compression",
  "role",
  "wait_end_of_query",
  "send_progress_in_http_headers",
  "http_headers_progress_interval_ms",
  "cancel_http_readonly_queries_on_client_close",
]);

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** Tests ask about few rows: more threads would only cost time. */
await session.queryAsync("SET max_threads = 1", { format: "TabSeparated" });

const run = async (sql: string, format = "TabSeparated"): Promise<Uint8Array> =>
  (await session.queryAsync(sql, { format })).bytes();

/** The request before this one, answered or not. */
let before: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = before.then(work);
  before = done.catch(() => undefined);
  return done;
}

async function carryOut(url: URL, body: Buffer): Promise<Uint8Array> {
  const statement = url.searchParams.get("query");
  const settings = [...url.searchParams].filter(([name]) => !NO_SETTINGS.has(name));
  const database = url.searchParams.get("database");
  if (database !== null) await run(`USE ${database}`);
  try {
    if (settings.length > 0)
      await run(`SET ${settings.map(([name, value]) => `${name} = ${quoted(value)}`).join(", ")}`);
    const format = url.searchParams.get("default_format") ?? undefined;
    if (statement === null) return await run(body.toString(), format);
    if (body.length === 0) return await run(statement, format);
    // By a file: what stands in a statement ends for this engine where two lines end.
    const path = join(folder, "inserted.rows");
    await Bun.write(path, body);
    return await run(statement.replace(/ FORMAT (\w+)$/, ` FROM INFILE ${quoted(path)} FORMAT $1`));
  } finally {
    // The session is everybody's: a deduplication token must not outlive its request.
    const names = settings.map(([name]) => name).filter((name) => !name.startsWith("param_"));
    if (names.length > 0) await run(`SET ${names.map((name) => `${name} = DEFAULT`).join(", ")}`);
  }
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  maxRequestBodySize: 2 ** 30,
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/ping") return new Response("Ok.\n");
    const body = Buffer.from(await request.arrayBuffer());
    const headers = {
      "X-ClickHouse-Query-Id": url.searchParams.get("query_id") ?? crypto.randomUUID(),
      "X-ClickHouse-Summary": "{}",
    };
    try {
      return new Response(await inTurn(() => carryOut(url, body)), { headers });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const text =
        /Code: [0-9]+\. DB::Exception[^]*/.exec(message)?.[0] ?? `Code: 1001. DB::Exception: ${message}`;
      const code = /^Code: ([0-9]+)/.exec(text)?.[1] ?? "1001";
      return new Response(text, {
        status: 500,
        headers: { ...headers, "X-ClickHouse-Exception-Code": code },
      });
    }
  },
});
console.log(server.port);
