// ClickHouse's engine behind a part of its HTTP interface, for @clickhouse/client. It serves one statement at a time.
//
//   bun engine_server.ts FOLDER [THREADS]    prints its port

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
const threads = Number(process.argv[3] ?? 1);
await session.queryAsync(`SET max_threads = ${threads}`, { format: "TabSeparated" });

const run = async (sql: string, format = "TabSeparated"): Promise<Uint8Array> =>
  (await session.queryAsync(sql, { format })).bytes();

/** The request before this one, answered or not. */
let before: Promise<unknown> = Promise.resolve();

function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const done = before.then(work);
  before = done.catch(() => undefined);
  return done;
}

/** The session is everybody's. What it was told last: */
let database: string | null = null;
let settings = new Map<string, string>();

/** Gives the session the settings of a request, and no others: a deduplication token must not outlive its own. */
async function set(wanted: Map<string, string>): Promise<void> {
  const changed = [...wanted].filter(([name, value]) => settings.get(name) !== value);
  const ended = [...settings.keys()].filter((name) => !wanted.has(name) && !name.startsWith("param_"));
  settings = wanted;
  const changes = [
    ...changed.map(([name, value]) => `${name} = ${quoted(value)}`),
    ...ended.map((name) => `${name} = DEFAULT`),
  ];
  if (changes.length > 0) await run(`SET ${changes.join(", ")}`);
}

async function carryOut(url: URL, body: Buffer): Promise<Uint8Array> {
  const { searchParams } = url;
  const wanted = searchParams.get("database");
  if (wanted !== null && wanted !== database) await run(`USE ${wanted}`);
  database = wanted ?? database;
  await set(new Map([...searchParams].filter(([name]) => !NO_SETTINGS.has(name))));
  const statement = searchParams.get("query");
  const format = searchParams.get("default_format") ?? undefined;
  if (statement === null) return run(body.toString(), format);
  if (body.length === 0) return run(statement, format);
  // By a file: what stands in a statement ends for this engine where two lines end.
  const path = join(folder, "inserted.rows");
  await Bun.write(path, body);
  return run(statement.replace(/ FORMAT (\w+)$/, ` FROM INFILE ${quoted(path)} FORMAT $1`));
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
