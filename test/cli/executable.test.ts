import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json" with { type: "json" };
import { authorize } from "../../bench/oauth_client.ts";
import { describeInBrowser, useBrowser } from "../support/console/browser.ts";
import { expectNoTrouble } from "../support/console/walk.ts";
import { freePort } from "../support/free_port.ts";
import { type Api, PASSWORD } from "../support/harness.ts";
import { run, type ServerProcess, startServer } from "../support/process.ts";
import { TESTS_ALL } from "../support/properties.ts";
import { blocksOf, openTerminal, patternOf } from "../support/terminal.ts";

// The program as one file, on a machine that has nothing else. `bun run test:executable` runs all that starts processes
// against it.

const place = mkdtempSync(join(tmpdir(), "executable-"));
const program = process.env.TEST_PROGRAM ?? join(place, "meterhouse");
const folder = join(place, "empty");
const home = join(place, "home");
const env = { HOME: home, PATH: "/nowhere", HOST: "127.0.0.1", PORT: "0", ADMIN_PASSWORD: PASSWORD };

const start = () => startServer(env, undefined, program, folder);
const command = (...words: string[]) => run(words, env, program, folder);

let server: ServerProcess;
let api: Api;
/** The events of the whole store. */
const stored = async () => (await api("POST", "/usage/search", { relative: "last_90d" })).body.meta.total;

beforeAll(async () => {
  mkdirSync(folder);
  if (process.env.TEST_PROGRAM === undefined) {
    const compile = Bun.spawn(["bun", "scripts/compile.ts", "--outfile", program], { stdout: "ignore" });
    expect(await compile.exited).toBe(0);
  }
  server = await start();
  api = await server.signIn();
});
afterAll(async () => {
  server.kill("SIGKILL");
  rmSync(place, { recursive: true, force: true });
});

/** The folder of what was unpacked. */
function unpacked(): string {
  const cache = join(home, ".cache", "meterhouse");
  return join(cache, readdirSync(cache)[0] ?? "");
}

describe("the executable", () => {
  test("serves in an empty folder as the sources do", () => {
    expect(server.greeting).toContain("Created the company My company with the admin admin@example.com");
    expect(readdirSync(join(folder, "data", "var"))).toEqual(
      expect.arrayContaining(["jwt_secret", "meterhouse.sqlite", "usage.duckdb"]),
    );
    expect(readdirSync(unpacked()).toSorted()).toEqual(["duckdb.node", "libduckdb.so"]);
  });

  test("carries the console", async () => {
    const document = await api("GET", "origin:/console/clients");
    const assets = [...String(document.body).matchAll(/"(\/console\/assets\/[^"]+)"/g)].map(
      ([, path]) => path,
    );
    // A stylesheet, a script, and what that imports.
    expect(assets.length).toBeGreaterThan(2);
    for (const path of assets) expect((await api("GET", `origin:${path}`)).status).toBe(200);
    expect(document.headers.get("x-meterhouse-build")).toMatch(/^[0-9a-f]{16}$/);
    expect(server.printed()).toMatch(/^Open http:\S+\/console and sign in as admin@example.com$/m);
  });

  test("says its version, with the commit and its day, and what it is called", async () => {
    const { out } = await command("--version");
    expect(out).toMatch(
      new RegExp(`^meterhouse ${version} \\(([0-9a-f]{7,}, \\d{4}-\\d\\d-\\d\\d|unknown, unknown)\\)\n$`),
    );
    expect((await command("--help")).out).toContain("Usage: meterhouse COMMAND");
  });

  test("writes nothing for a command that needs no usage", async () => {
    const other = join(place, "other");
    const { code, out } = await run(["openapi"], { ...env, HOME: other, DATA_DIR: other }, program, folder);
    expect([code, JSON.parse(out).openapi]).toEqual([0, "3.1.0"]);
    expect(existsSync(other)).toBe(false);
  });

  test("has a pool of 16 native threads, in the process that was started", () => {
    const settings = readFileSync(`/proc/${server.pid}/environ`, "utf8").split("\0");
    expect(settings).toContain("UV_THREADPOOL_SIZE=16");
  });

  test("serves the documentation with its files", async () => {
    for (const [path, text] of [
      ["/docs", "swagger-ui"],
      ["/docs/swagger-ui.css", ".swagger-ui"],
      ["/docs/swagger-ui-bundle.js", "SwaggerUIBundle"],
      ["/openapi.json", "/api/v1/login"],
    ]) {
      const answer = await fetch(`${server.url}${path}`);
      expect([path, answer.status, await answer.text()]).toEqual([
        path,
        200,
        expect.stringContaining(text ?? ""),
      ]);
    }
  });

  test("stores usage and finds it", async () => {
    const client_id = (await api("POST", "/clients", { name: "Acme" })).body.data.id;
    const product_id = (await api("POST", "/products", { name: "Tokens" })).body.data.id;
    const model = { billing_type_id: 2, name: "Per token", price: 0.01, currency: "USD", description: "" };
    const billing_model_id = (await api("POST", "/billing-models", model)).body.data.id;
    const ids = { client_id, product_id, billing_model_id, external_subscription_id: "tokens" };
    const started_at = new Date(Date.now() - 86_400_000).toISOString();
    const subscription = { name: "Acme, tokens", started_at, ...ids };
    expect((await api("POST", "/subscriptions", subscription)).status).toBe(201);
    const event = {
      id: Bun.randomUUIDv7(),
      external_subscription_id: "tokens",
      timestamp: Date.now(),
      usage: 12,
    };
    expect((await api("POST", "/usage/events", event)).body.data).toMatchObject({ accepted: 1 });
    expect(await stored()).toBe(1);
  });

  test("answers an AI agent, with what it loads at its first message", async () => {
    const token = await authorize(server.url, { email: "admin@example.com", password: PASSWORD });
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "billing_find_clients" } };
    const answer = await fetch(`${server.url}/api/v1/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2025-06-18",
      },
      body: JSON.stringify(call),
    });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Acme")]);
  });

  test("adds companies and users beside a running server", async () => {
    const company = ["company", "add", "--name", "Second", "--admin-email", "second@example.com"];
    expect(await command(...company)).toMatchObject({ code: 0, out: expect.stringContaining("Second") });
    const user = ["user", "add", "--company", "2", "--email", "u@example.com", "--role", "analyst"];
    expect(await command(...user, "--password", PASSWORD)).toMatchObject({ code: 0 });
    await server.signIn("u@example.com", PASSWORD);
  });

  test("runs a job that needs a Worker, in the running server", async () => {
    expect(await command("job", "records_check")).toMatchObject({
      code: 0,
      out: "Ran records_check\n",
      err: "",
    });
  });

  test("says whether the server is well, by its exit code", async () => {
    const url = ["--url", server.url];
    expect(await command("health", ...url)).toMatchObject({ code: 0, err: "" });
    expect(await command("health", "--ready", ...url)).toMatchObject({ code: 0, err: "" });
    const nobody = await command("health", "--url", "http://127.0.0.1:1");
    expect(nobody).toMatchObject({
      code: 1,
      err: expect.stringContaining("No answer from http://127.0.0.1:1"),
    });
  });

  test("keeps what it answered through kill -9, imports a file, and passes its own checks", async () => {
    server.kill("SIGKILL");
    await server.exited;
    const file = join(folder, "usage.csv");
    const rows = [1, 2, 3].map((usage) => `tokens,${Date.now() - usage * 1_000},${usage}`);
    writeFileSync(file, ["external_subscription_id,timestamp,usage", ...rows].join("\n"));
    const imported = await command("import", "usage", file, "--company", "1");
    expect(imported).toMatchObject({ code: 0, out: expect.stringContaining("3 accepted") });
    const doctor = await command("doctor");
    expect([doctor.code, doctor.out]).toEqual([0, expect.not.stringContaining("FAIL")]);
    expect(doctor.out).toContain("4 events");
  });

  test("unpacks its library again where it is shorter, and starts; SIGTERM ends it with 0", async () => {
    truncateSync(join(unpacked(), "libduckdb.so"), 1_000);
    server = await start();
    api = await server.signIn();
    expect(await stored()).toBe(4);
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
  });

  test("writes nowhere but in DATA_DIR where nothing else may be written: imports, backs up, verifies, restores", async () => {
    const { HOME: _, ...others } = env;
    const data_dir = join(folder, "data", "var");
    const there = {
      ...others,
      DATA_DIR: data_dir,
      TMPDIR: "/proc/nowhere",
      BACKUP_URL: `file://${place}/points`,
    };
    for (const words of [
      ["import", "usage", join(folder, "usage.csv"), "--company", "1"],
      ["backup"],
      ["backup", "verify"],
      ["restore", "latest", "--to", join(data_dir, "restored")],
    ])
      expect(await run(words, there, program, folder)).toMatchObject({ code: 0, err: "" });
    expect(readdirSync(join(data_dir, "cache"))).toHaveLength(1);
  });
});

// Making the whole demo takes as long as all else of this file; test/demo makes a small one from the sources.
const describeDemo = TESTS_ALL ? describeInBrowser : describe.skip;

describeDemo("the executable's demo", () => {
  let demo: ServerProcess;
  const browser = useBrowser({
    get url() {
      return demo.url;
    },
  });
  const startDemo = () => startServer(env, undefined, program, folder, ["serve", "--demo"]);

  test("is made whole in an empty folder, signs in by a button, and paints its pages", async () => {
    demo = await startDemo();
    expect(demo.greeting).toContain("Made the demo in ");
    const { page, troubles } = await browser.open();
    await page.getByRole("button", { name: /^Billing manager/ }).click();
    await page.getByText("All of it is made up").waitFor();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.locator("figure.chart .drawing").first().waitFor();
    await page.getByRole("link", { name: "Clients", exact: true }).click();
    await page.getByText("of 40", { exact: false }).first().waitFor();
    expectNoTrouble(troubles);
  });

  test("ends with 0, and is found again as it was", async () => {
    demo.kill("SIGTERM");
    expect(await demo.exited).toBe(0);
    demo = await startDemo();
    expect(demo.greeting).not.toContain("Making the demo");
    const { page, troubles } = await browser.open();
    await page.getByRole("button", { name: /^A client's user/ }).click();
    await page.getByRole("table", { name: "Subscriptions" }).waitFor();
    expectNoTrouble(troubles);
    demo.kill("SIGTERM");
    expect(await demo.exited).toBe(0);
  });
});

const lacks = ["bash", "jq", "curl", "awk"].find((tool) => !Bun.which(tool));
if (lacks) console.log(`skipped: the rehearsal of docs/operations.md: there is no ${lacks}`);

test.skipIf(lacks !== undefined)(
  "the rehearsal of docs/operations.md: what was imported and billed is there after the data were deleted",
  async () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/operations.md"), "utf8");
    const rehearsal = page.slice(page.indexOf("### Rehearse"), page.indexOf("## Restore any instant"));
    const at = join(place, "ops");
    mkdirSync(join(at, "bin"), { recursive: true });
    symlinkSync(program, join(at, "bin", "meterhouse"));
    const port = String(await freePort());
    const terminal = openTerminal("bash", at, {
      HOME: home,
      PATH: `${join(at, "bin")}:${process.env.PATH}`,
      PORT: port,
    });
    /** A month of fewer events, for fewer subscriptions. */
    const smaller = (text: string) =>
      text
        .replaceAll("1000000", "20000")
        .replaceAll("i * 2600", "i * 130000")
        .replaceAll(/\b100\b/g, "10")
        .replaceAll(":3000", `:${port}`)
        .replaceAll("/home/ops", at);
    try {
      const blocks = blocksOf(rehearsal);
      expect(blocks.length).toBeGreaterThan(6);
      for (const { commands, shown } of blocks) {
        const printed = await terminal.paste(smaller(commands));
        if (shown !== null)
          expect(columns(printed), commands).toMatch(patternOf(columns(withoutRows(smaller(shown)))));
      }
      expect(await terminal.end()).toBe("");
    } finally {
      terminal.kill();
    }
  },
);

/** The number of all rows is left open: what jobs do by the clock adds some. */
const withoutRows = (text: string) => text.replaceAll(/\b54\d\b/g, "…");

/** Text in which columns are one space apart, however wide they are. */
const columns = (text: string) => text.replaceAll(/ +/g, " ");
