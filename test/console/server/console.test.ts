import { describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { buildConsole, readBuild, writeBuild } from "../../../src/console/server/build.ts";
import { ConsoleFiles } from "../../../src/console/server/files.ts";
import { buildApp } from "../../../src/server/http_app.ts";
import { useService } from "../../support/harness.ts";

const service = useService();

const get = (path: string, init: BunFetchRequestInit = {}) =>
  fetch(`${service.url}${path}`, { redirect: "manual", ...init });

/** The addresses of the document's script and style. */
async function linked(): Promise<{ script: string; stylesheet: string }> {
  const text = await (await get("/console")).text();
  const [, stylesheet = ""] = /<link rel="stylesheet" href="([^"]+)">/.exec(text) ?? [];
  const [, script = ""] = /<script type="module" src="([^"]+)">/.exec(text) ?? [];
  return { script, stylesheet };
}

describe("the document", () => {
  test("is served at every page's path, known or not, and at / by a redirect", async () => {
    const root = await get("/");
    expect([root.status, root.headers.get("location")]).toEqual([302, "/console"]);
    const texts = new Set<string>();
    for (const path of ["/console", "/console/", "/console/clients/7", "/console/no/such/page?x=1"]) {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.headers.get("cache-control")).toBe("no-cache");
      texts.add(await answer.text());
    }
    expect(texts.size).toBe(1);
    expect([...texts][0]).toContain('<div id="app"></div>');
  });

  test("allows scripts, styles and calls of its own origin alone", async () => {
    const answer = await get("/console");
    expect(answer.headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    );
    expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await answer.text()).not.toMatch(
      /<script>|<style|\son\w+=|https?:\/\/(?!www\.w3\.org\/2000\/svg)/,
    );
  });

  test("names the build that every answer carries", async () => {
    const [, id] = /<meta name="build" content="(\w+)">/.exec(await (await get("/console")).text()) ?? [];
    expect(id).toMatch(/^[0-9a-f]{16}$/);
    const answers = await Promise.all([
      get("/console"),
      get("/console/assets/none.js"),
      get("/api/v1/clients"),
      get("/api/v1/no-such-path"),
      get("/api/v1/login", { method: "POST", body: "{" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 401, 404, 415]);
    for (const { headers } of answers) expect(headers.get("x-meterhouse-build")).toBe(id ?? null);
  });

  test("answers HEAD, and no other method", async () => {
    const head = await get("/console/clients", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expect((await get("/console", { method: "POST" })).status).toBe(405);
  });
});

describe("files", () => {
  test("are packed, and cached for ever", async () => {
    const { script, stylesheet } = await linked();
    const kinds = [
      [script, "text/javascript; charset=utf-8"],
      [stylesheet, "text/css; charset=utf-8"],
    ] as const;
    for (const [path, type] of kinds) {
      expect(path).toMatch(/^\/console\/assets\/\w+-\w{8}\.(js|css)$/);
      const packed = await get(path, { headers: { "accept-encoding": "br, gzip" }, decompress: false });
      expect(packed.status).toBe(200);
      expect(packed.headers.get("content-type")).toBe(type);
      expect(packed.headers.get("content-encoding")).toBe("gzip");
      expect(packed.headers.get("vary")).toBe("Accept-Encoding");
      expect(packed.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      const plain = await get(path, { headers: { "accept-encoding": "identity" } });
      expect(plain.headers.get("content-encoding")).toBeNull();
      const unpacked = Bun.gunzipSync(new Uint8Array(await packed.arrayBuffer()));
      expect(new TextDecoder().decode(unpacked)).toBe(await plain.text());
      expect((await get(path, { method: "HEAD" })).status).toBe(200);
    }
  });

  test("that the script imports are named by the document, to be loaded with it", async () => {
    const text = await (await get("/console")).text();
    const preloaded = [...text.matchAll(/<link rel="modulepreload" href="([^"]+)">/g)].map(
      ([, path = ""]) => path,
    );
    const { script } = await linked();
    const imports = (await (await get(script)).text()).matchAll(/(?:\bfrom|\bimport)"\.\/([\w.-]+\.js)"/g);
    const direct = [...imports].map(([, name]) => `/console/assets/${name}`);
    expect(direct.length).toBeGreaterThan(0);
    expect(preloaded).toEqual(expect.arrayContaining(direct));
    expect(new Set(preloaded).size).toBe(preloaded.length);
    for (const path of preloaded) expect((await get(path)).status).toBe(200);
  });

  test("that are not there are 404, never the document", async () => {
    const { script } = await linked();
    const names = ["main-00000000.js", "", "..%2fmain.tsx", `${script.split("/").at(-1)}/x`, "%00"];
    for (const name of names) {
      const answer = await get(`/console/assets/${name}`);
      expect(answer.status).toBe(404);
      expect(answer.headers.get("content-type")).toStartWith("application/json");
    }
  });

  test("have other names when their content changes, and so has the build", async () => {
    const folder = mkdtempSync(join(tmpdir(), "meterhouse-console-"));
    try {
      writeFileSync(join(folder, "main.tsx"), 'import("./area.ts").then(({ text }) => alert(text));');
      writeFileSync(join(folder, "console.css"), "body { color: red; }");
      const built = [];
      for (const text of ["one", "two", "two"]) {
        writeFileSync(join(folder, "area.ts"), `export const text = "${text}";`);
        built.push(await buildConsole(folder));
      }
      const [one, two, again] = built;
      expect(one?.files.size).toBe(3);
      expect(two?.id).not.toBe(one?.id ?? "");
      expect(two?.script).not.toBe(one?.script ?? "");
      expect(two?.stylesheet).toBe(one?.stylesheet ?? "");
      expect(again).toEqual(two);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("are the same after they were written into an executable", async () => {
    const build = await buildConsole();
    expect(readBuild(writeBuild(build))).toEqual(build);
  });
});

describe("the schemas of forms", () => {
  const path = "/console/schemas.json";

  test("are those of every body, with all that they refer to, as the documentation has them", async () => {
    const { body: schemas } = await service.anonymous("GET", `origin:${path}`);
    const { components, paths } = (await service.anonymous("GET", "origin:/openapi.json")).body;
    const of_bodies = [...JSON.stringify(bodiesOf(paths)).matchAll(REFERENCE)].map(([, title = ""]) => title);
    expect(of_bodies).toContain("CreateUser");
    const within = [...JSON.stringify(schemas).matchAll(REFERENCE)].map(([, title = ""]) => title);
    expect(within).toContain("UsageTierInput");
    expect(Object.keys(schemas).toSorted()).toEqual([...new Set([...of_bodies, ...within])].toSorted());
    const { properties, required } = components.schemas.CreateUser;
    expect(schemas.CreateUser).toMatchObject({ properties, required });
    expect(schemas.User).toBeUndefined();
    expect(JSON.stringify(schemas)).not.toContain('"examples":[');
  });

  test("are asked for again by their tag, and packed", async () => {
    const answer = await get(path, { headers: { "accept-encoding": "gzip" }, decompress: false });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(answer.headers.get("cache-control")).toBe("no-cache");
    const etag = answer.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{22}"$/);
    const again = await get(path, { headers: { "if-none-match": etag } });
    expect([again.status, again.headers.get("etag"), await again.text()]).toEqual([304, etag, ""]);
    expect((await get(path, { headers: { "if-none-match": '"another"' } })).status).toBe(200);
    expect((await get(path, { method: "HEAD" })).status).toBe(200);
  });
});

const REFERENCE = /#\/components\/schemas\/(\w+)/g;

/** The bodies of all routes. */
const bodiesOf = (paths: Record<string, Record<string, { requestBody?: unknown }>>) =>
  Object.values(paths).flatMap((methods) => Object.values(methods).map((route) => route.requestBody ?? null));

test("a console that cannot be built says so, and the API serves on", async () => {
  const messages: string[] = [];
  const log = pino({}, { write: (line) => void messages.push(JSON.parse(line).msg) });
  const files = new ConsoleFiles(log, () => buildConsole(join(tmpdir(), "no-console-here")));
  const app = buildApp(service.deps, { files });
  const ask = (path: string) => app.handle(new Request(`http://localhost${path}`));
  const document = await ask("/console/clients");
  expect([document.status, document.headers.get("cache-control")]).toEqual([503, "no-store"]);
  expect(await document.text()).toContain("The console cannot be shown");
  expect((await ask("/console/assets/main-00000000.js")).status).toBe(404);
  const health = await ask("/health");
  expect([health.status, health.headers.get("x-meterhouse-build")]).toEqual([200, null]);
  expect(messages).toEqual(["console: cannot be built, all else is served"]);
});
