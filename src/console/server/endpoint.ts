import { Elysia } from "elysia";
import { AppError } from "../../core/errors.ts";
import { html } from "../../core/html.ts";
import type { documentOf } from "../../http/documentation.ts";
import { page } from "../../http/responses.ts";
import type { ConsoleBuild } from "./build.ts";
import type { DemoAccount } from "./demo_accounts.ts";
import type { ConsoleFiles } from "./files.ts";
import { bodySchemas, type TaggedText } from "./schemas.ts";

/** Scripts, styles and calls of this origin alone; nothing frames it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath fill='%232563eb' d='M2 14V7l6-5 6 5v7h-3V9H5v5z'/%3E%3C/svg%3E";

/**
 * The console at /console: one document for all of its pages, which the browser draws, and its files by content. The
 * build's id is in every answer of the service, so that an open tab notices a newer one. `accounts`: those of the demo.
 */
export function consoleEndpoint(
  files: ConsoleFiles,
  describe: () => ReturnType<typeof documentOf>,
  accounts: readonly DemoAccount[] = [],
) {
  let schemas: Promise<TaggedText> | undefined;
  const hidden = { detail: { hide: true } };
  const document = async () => {
    const build = await files.load();
    return build === null ? failurePage() : appPage(build, accounts);
  };
  return new Elysia({ name: "console" })
    .onRequest(({ set }) => {
      if (files.id !== undefined) set.headers["x-meterhouse-build"] = files.id;
    })
    .get("/", ({ redirect }) => redirect("/console"), hidden)
    .get(
      "/console/assets/*",
      async ({ params, request }) => assetOf(await files.load(), params["*"], request),
      hidden,
    )
    .get(
      "/console/schemas.json",
      async ({ request }) => {
        schemas ??= describe().then(bodySchemas);
        return schemasResponse(await schemas, request);
      },
      hidden,
    )
    .get("/console", document, hidden)
    .get("/console/*", document, hidden);
}

function appPage(
  { id, script, stylesheet, imports }: ConsoleBuild,
  accounts: readonly DemoAccount[],
): Promise<Response> {
  const demo = html`<meta name="demo" content="${JSON.stringify(accounts)}">
`;
  // Loaded beside the script that imports them, not after it.
  const preloads = imports.map((name) => html`<link rel="modulepreload" href="/console/assets/${name}">`);
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="build" content="${id}">
${accounts.length > 0 ? demo : ""}<title>Meterhouse</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="/console/assets/${stylesheet}">
<script type="module" src="/console/assets/${script}"></script>
${preloads}
</head>
<body>
<div id="app"></div>
<noscript>The console needs JavaScript. The interface is described at <a href="/docs">/docs</a>.</noscript>
</body>
</html>
`;
  // The first document is asked for before the id is known.
  return page({ html: text, policy: POLICY }, { headers: { ...HEADERS, "x-meterhouse-build": id } });
}

const HEADERS = {
  "cache-control": "no-cache",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
};

function failurePage(): Promise<Response> {
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Meterhouse</title>
</head>
<body>
<h1>The console cannot be shown</h1>
<p>It could not be built when the service started; the service's log has the reason. The API goes on: <a href="/docs">/docs</a>.</p>
</body>
</html>
`;
  return page({ html: text, policy: POLICY }, { status: 503, headers: { "cache-control": "no-store" } });
}

/** A file by its hashed name. Errors: not_found, as for a chunk of an older build. */
function assetOf(build: ConsoleBuild | null, name: string, request: Request): Response {
  const file = build?.files.get(name);
  if (file === undefined) throw new AppError("not_found", `The console has no file ${name}`);
  const headers = { "content-type": file.media_type, "cache-control": "public, max-age=31536000, immutable" };
  return packedResponse(file.gzipped, request, headers);
}

/** What forms know of bodies. It changes with the program only: browsers ask whether it has. */
function schemasResponse({ gzipped, etag }: TaggedText, request: Request): Response {
  const headers = { etag, "cache-control": "no-cache" };
  if (request.headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers });
  return packedResponse(gzipped, request, { ...headers, "content-type": "application/json" });
}

/** Content that is kept packed; unpacked for who does not accept that. */
function packedResponse(
  gzipped: Uint8Array<ArrayBuffer>,
  request: Request,
  headers: Record<string, string>,
): Response {
  const is_packed = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  const all = { ...headers, vary: "Accept-Encoding", ...(is_packed && { "content-encoding": "gzip" }) };
  return new Response(is_packed ? gzipped : Bun.gunzipSync(gzipped), { headers: all });
}
