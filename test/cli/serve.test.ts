import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { TEST_STORE } from "../support/harness.ts";
import {
  type CommandFolder,
  makeCommandFolder,
  makePreparedFolder,
  run,
  runHere,
  serveHere,
  type ServerProcess,
  startServer,
  TESTED_COMMAND,
} from "../support/process.ts";

let place: CommandFolder;

beforeEach(async () => {
  place = await makePreparedFolder();
});
afterEach(() => place.remove());

describe("serve", () => {
  test("the first start creates a company and its admin, and prints a made-up password once", async () => {
    const empty = await makeCommandFolder();
    const { ADMIN_PASSWORD: _, ...env } = empty.env;
    const first = await startServer({ ...env, COMPANY_NAME: "Wattworks" });
    expect(first.greeting).toContain("Created the company Wattworks with the admin admin@example.com");
    const password = /shown only now: (\S+)/.exec(first.greeting)?.[1] ?? "";
    expect(password).toHaveLength(24);
    const api = await first.signIn("admin@example.com", password);
    expect((await api("GET", "/company")).body.data).toMatchObject({ name: "Wattworks" });
    first.kill("SIGTERM");
    expect(await first.exited).toBe(0);

    const second = await startServer(env);
    expect(second.greeting).not.toContain("password");
    // The signing secret was kept: the token of the first run still holds.
    await second.signIn("admin@example.com", password);
    second.kill("SIGINT");
    expect(await second.exited).toBe(0);
    expect(statSync(`${empty.data_dir}/jwt_secret`).mode & 0o777).toBe(0o600);
    empty.remove();
  });

  test("SIGTERM during the start ends it with 0, and the next start goes on", async () => {
    const empty = await makeCommandFolder();
    const child = Bun.spawn([...TESTED_COMMAND, "serve"], { env: empty.env, stdout: "ignore" });
    while (readdirSync(empty.data_dir).length === 0) await Bun.sleep(1);
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    expect(await runHere(["company", "list"], empty.env)).toMatchObject({ code: 0 });
    empty.remove();
  });

  test("SIGTERM answers what is in flight, then exits with 0 within 10 s", async () => {
    const server = await startServer(place.env);
    const api = await server.signIn();
    const started = performance.now();
    const answers = Array.from({ length: 50 }, (_, i) => api("POST", "/clients", { name: `c${i}` }));
    await answers[0];
    server.kill("SIGTERM");
    const settled = await Promise.allSettled(answers);
    expect(await server.exited).toBe(0);
    expect(performance.now() - started).toBeLessThan(10_000);
    const created = settled.filter((result) => result.status === "fulfilled" && result.value.status === 201);
    // Connections that were never accepted may be refused; an accepted request is answered and its write kept.
    const list = await serveHere(place.env, (again) => again("GET", "/clients"));
    expect(list.body.data.length).toBe(created.length);
  });

  test.skipIf(TEST_STORE !== "postgres")(
    "of two that start together on one database one serves",
    async () => {
      const [first, second] = [await makeCommandFolder(), await makeCommandFolder()];
      const env = { ...first.env, DATA_DIR: second.data_dir };
      const starts = [first.env, env].map((each) => startServer(each).catch(() => null));
      const servers = (await Promise.all(starts)).filter((server) => server !== null);
      expect(servers).toHaveLength(1);
      const list = await runHere(["company", "list"], env);
      expect(list.out.trim().split("\n")).toHaveLength(2);
      for (const server of servers) server.kill("SIGTERM");
      expect(await Promise.all(servers.map(({ exited }) => exited))).toEqual([0]);
      for (const one of [first, second]) one.remove();
    },
  );

  test("nobody else may read what it writes, nor what an older version left readable", async () => {
    const empty = await makeCommandFolder();
    const data_dir = join(empty.data_dir, "var", "meterhouse");
    const env = { ...empty.env, DATA_DIR: data_dir };
    const modes = () => {
      const paths = ["", ...readdirSync(data_dir, { recursive: true }).map(String)];
      return paths.map((path): [string, string] => {
        const found = statSync(join(data_dir, path));
        return [path, `${found.isDirectory() ? "folder" : "file"} ${(found.mode & 0o777).toString(8)}`];
      });
    };
    const open = () => modes().filter(([, mode]) => !["file 600", "folder 700"].includes(mode));

    const server = await startServer(env);
    const api = await server.signIn();
    const event = { external_subscription_id: "unknown", usage: 1 };
    await api("POST", "/usage/events", event);
    await api("POST", "/clients", { name: "Acme" });
    const running = modes().map(([path]) => path);
    expect(running).toEqual(expect.arrayContaining(["jwt_secret", "usage.duckdb"]));
    if (TEST_STORE === "sqlite")
      expect(running).toEqual(expect.arrayContaining(["meterhouse.sqlite", "meterhouse.sqlite-wal"]));
    expect(open()).toEqual([]);
    server.kill("SIGKILL");
    await server.exited;
    expect(open()).toEqual([]);

    const left = modes().filter(([, mode]) => mode.startsWith("file"));
    for (const [path] of left) chmodSync(join(data_dir, path), 0o644);
    expect(open()).toHaveLength(left.length);
    const again = await startServer(env);
    expect(open()).toEqual([]);
    again.kill("SIGTERM");
    await again.exited;
    expect(open()).toEqual([]);
    empty.remove();
  });

  test("a damaged signing secret stops the start with a clear line", async () => {
    await Bun.write(`${place.data_dir}/jwt_secret`, "");
    const { code, err } = await run(["serve"], place.env);
    expect([code, err.trim()]).toEqual([78, expect.stringContaining("jwt_secret is damaged")]);
  });

  test("a JWT_SECRET under 32 bytes stops the start and every command with a clear line", async () => {
    const empty = await makeCommandFolder();
    const JWT_SECRET = "thirty-one bytes, one too few..";
    const why =
      "Cannot start: JWT_SECRET must have at least 32 bytes, and has 31: make one with `openssl rand -base64 48`, or leave it unset";
    for (const command of ["serve", "migrate"]) {
      const { code, out, err } = await runHere([command], { ...empty.env, JWT_SECRET });
      expect([code, out, err.trim()]).toEqual([78, "", why]);
    }
    expect(readdirSync(empty.data_dir)).toEqual([]);
    empty.remove();
    // Bytes count, not characters.
    await serveHere({ ...place.env, JWT_SECRET: "é".repeat(16) }, async (api) => {
      expect((await api("GET", "/company")).status).toBe(200);
    });
  });

  test("a database that can't be reached is named, without its password", async () => {
    const { code, err } = await runHere(["serve"], {
      ...place.env,
      DATABASE_URL: "postgres://me:secret@127.0.0.1:1/x",
    });
    expect([code, err.trim()]).toEqual([
      1,
      expect.stringContaining("Cannot open PostgreSQL at 127.0.0.1:1/x"),
    ]);
    expect(err).not.toContain("secret");
  });

  test.each([
    [{ PORT: "http" }, "PORT must be a whole number"],
    [{ BILLING_GRACE: "an hour" }, "BILLING_GRACE must be an ISO 8601 duration"],
    [
      { USAGE_URL: "http://localhost:8123" },
      "USAGE_URL must be the http or https URL of one ClickHouse server",
    ],
    [
      { USAGE_URL: "http://localhost:8123/usage", DATABASE_URL: "" },
      "USAGE_URL needs DATABASE_URL: PostgreSQL has who stores which events",
    ],
    [{ USAGE_LANES: "65" }, "USAGE_LANES must be a whole number from 1 to 64"],
    [{ INSTANCE_URL: "http://10.0.0.5:3001" }, "INSTANCE_URL needs USAGE_URL, the same for every instance"],
    [{ DATABASE_URL: "mysql://x" }, "DATABASE_URL must start with postgres://"],
    [{ METERHOUSE_PORT: "1" }, "METERHOUSE_PORT is not a setting"],
    [{ PORT: "x", LOG_LEVEL: "loud" }, "LOG_LEVEL must be one of"],
    [{ ADMIN_PASSWORD: "short" }, "ADMIN_PASSWORD must be 12 to 256 characters"],
  ])("a setting that can't be used stops the start: %j", async (env, message) => {
    const { code, err } = await runHere(["serve"], { ...place.env, ...env });
    expect(code).toBe(78);
    expect(err).toContain(message);
    expect(err.trim().split("\n")).toHaveLength(1);
  });
});

describe("while one serves", () => {
  let own: CommandFolder;
  let server: ServerProcess;
  beforeAll(async () => {
    own = await makePreparedFolder();
    server = await startServer(own.env);
  });
  afterAll(() => own.remove());

  test.skipIf(process.platform !== "linux")(
    "the threads that query and write go behind the one that answers",
    async () => {
      const folder = `/proc/${server.pid}/task`;
      const niceness = (thread: string) => {
        const stat = readFileSync(`${folder}/${thread}/stat`, "utf8");
        // After the name, which may hold blanks: the state is the first field, niceness the seventeenth.
        return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[16]);
      };
      const poolThreads = () =>
        readdirSync(folder).filter((thread) =>
          readFileSync(`${folder}/${thread}/comm`, "utf8").startsWith("Bun Pool"),
        );
      expect(poolThreads().length).toBeGreaterThan(1);
      // Threads that came after the start are found a moment later.
      const deadline = performance.now() + 10_000;
      while (poolThreads().some((thread) => niceness(thread) === 0) && performance.now() < deadline) {
        await Bun.sleep(100);
      }
      expect(poolThreads().map(niceness)).toEqual(poolThreads().map(() => 7));
      expect(niceness(String(server.pid))).toBe(0);
    },
  );

  test("a second server on the same port or the same data is refused with one clear line", async () => {
    const samePort = await makePreparedFolder();
    const port = await run(["serve"], { ...samePort.env, PORT: new URL(server.url).port });
    expect(port).toMatchObject({ code: 1, out: expect.not.stringContaining("listens") });
    expect(port.err.trim()).toMatch(/port \d+/i);
    samePort.remove();
    const data = await run(["serve"], own.env);
    expect(data.code).toBe(1);
    expect(data.err.trim().split("\n")).toHaveLength(1);
    expect(data.err).toContain("usage.duckdb");
  });

  test("an open connection that sends nothing does not hold up the shutdown", async () => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("POST /api/v1/clients HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{");
    await Bun.sleep(100);
    server.kill("SIGTERM");
    expect(await server.exited).toBe(0);
    socket.destroy();
  });
});
