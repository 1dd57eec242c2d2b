import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SHARED_LIMITS } from "../../src/core/limits.ts";
import { LIMITS } from "../../src/server/limits.ts";
import {
  type CommandFolder,
  makePreparedFolder,
  run,
  runHere,
  serveHere,
  startServer,
} from "../support/process.ts";
import { whyNoSqlite } from "../support/why_no_sqlite.ts";

// Commands beside a running server: through its control socket, or by URL with OPERATOR_TOKEN.

const OPERATOR_TOKEN = "an-operators-token-of-over-32-characters";

const why_skipped = whyNoSqlite();
if (why_skipped !== null) console.log(`skipped: ${why_skipped}`);

let place: CommandFolder;
beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => place.remove());

const socketOf = ({ data_dir }: CommandFolder) => join(data_dir, "control.sock");

describe("the control socket", () => {
  test("is its owner's alone, and gone when the server has stopped", async () => {
    await serveHere(place.env, async () => {
      expect(statSync(socketOf(place)).mode & 0o777).toBe(0o600);
      expect(statSync(socketOf(place)).isSocket()).toBe(true);
    });
    expect(existsSync(socketOf(place))).toBe(false);
  });

  test("of a killed server keeps no command from working, and the next server replaces it", async () => {
    const server = await startServer(place.env);
    server.kill("SIGKILL");
    await server.exited;
    expect(existsSync(socketOf(place))).toBe(true);
    expect(await runHere(["company", "list"], place.env)).toMatchObject({ code: 0 });
    expect(await runHere(["job", "event_prune"], place.env)).toMatchObject({ code: 0 });
    await serveHere(place.env, async () => {
      expect(await runHere(["job", "event_prune"], place.env)).toMatchObject({ code: 0 });
    });
  });

  test("is replaced where it is no socket at all", async () => {
    writeFileSync(socketOf(place), "not a socket");
    await serveHere(place.env, async () => {
      expect(statSync(socketOf(place)).isSocket()).toBe(true);
    });
  });

  // A database in PostgreSQL belongs to one folder.
  test.skipIf(why_skipped !== null)(
    "works in a folder whose path is longer than a socket's may be",
    async () => {
      const data_dir = join(place.data_dir, "deep".repeat(40));
      mkdirSync(data_dir);
      const env = { ...place.env, DATA_DIR: data_dir };
      await serveHere(env, async () => {
        expect(await runHere(["job", "event_prune"], env)).toMatchObject({
          code: 0,
          out: "Ran event_prune\n",
        });
      });
      expect(existsSync(join(data_dir, "control.sock"))).toBe(false);
    },
  );

  test("a second server is refused, and the first keeps its socket", async () => {
    await serveHere(place.env, async () => {
      expect(await run(["serve"], place.env)).toMatchObject({ code: 1 });
      expect(await runHere(["company", "list"], place.env)).toMatchObject({ code: 0 });
    });
  });
});

describe("through the server", () => {
  test("company, user, job and doctor work, also at once", async () => {
    await serveHere(place.env, async (_, { signIn }) => {
      const password = "a password of length";
      const words = ["user", "add", "--company", "1", "--email", "socket@example.com", "--role", "analyst"];
      const added = await runHere([...words, "--password", password], place.env);
      expect(added).toMatchObject({ code: 0, out: expect.stringContaining("socket@example.com, analyst") });
      await signIn("socket@example.com", password);
      const again = await runHere([...words, "--password", password], place.env);
      expect(again).toMatchObject({ code: 1, err: expect.stringContaining("email is already used") });
      const nobody = await runHere(["user", "list", "--company", "99"], place.env);
      expect(nobody).toMatchObject({ code: 2, err: "--company 99 is no company\n" });
      const [list, doctor, job] = await Promise.all([
        run(["user", "list", "--company", "1"], place.env),
        run(["doctor", "--rebuild-sums", "--read-documents"], place.env),
        run(["job", "usage_check"], place.env),
      ]);
      expect(list).toMatchObject({ code: 0, out: expect.stringContaining("socket@example.com") });
      expect([doctor.code, doctor.err]).toEqual([0, ""]);
      expect(doctor.out).toContain("usage store: answers");
      expect(doctor.out).not.toContain("FAIL");
      expect(job).toMatchObject({ code: 0, out: "Ran usage_check\n", err: "" });
    });
  });

  test("a job that does not exist is refused with exit 2", async () => {
    await serveHere(place.env, async () => {
      const { code, err } = await runHere(["job", "nothing"], place.env);
      expect([code, err]).toEqual([2, expect.stringContaining("No such job: nothing; known are")]);
    });
  });

  test("what else is sent to the socket is refused, and harms nothing", async () => {
    await serveHere(place.env, async () => {
      const unix = socketOf(place);
      const post = (path: string, body: string) =>
        fetch(`http://localhost${path}`, {
          unix,
          method: "POST",
          body,
          headers: { "content-type": "application/json" },
        }).then(({ status }) => status);
      expect(await post("/operator/actions/nothing", "{}")).toBe(404);
      expect(await post("/operator/actions/constructor", "{}")).toBe(404);
      expect(await post("/operator/actions/run_job", "{}")).toBe(422);
      expect(await post("/operator/actions/run_job", "{")).toBe(400);
      expect(await post("/operator/actions/run_job", `{"name":"${"x".repeat(6_000_000)}"}`)).toBe(413);
      expect(await post("/operator/companies/99/usage/search", "{}")).toBe(404);
      expect(await post("/operator/companies/1/usage/../users", "{}")).toBe(404);
      expect(await post("/operator/companies/1/users", "{}")).toBe(404);
      expect(await post("/api/v1/users", "{}")).toBe(404);
      expect(await post("/operator/companies/1/usage/search", "{}")).toBe(200);
    });
  });
});

describe("--server", () => {
  const list = (url: string, env: Record<string, string> = {}) =>
    runHere(["company", "list", "--server", url], {
      ...place.env,
      DATA_DIR: `${place.data_dir}/none`,
      ...env,
    });

  test("takes the operator's commands with OPERATOR_TOKEN", async () => {
    await serveHere({ ...place.env, OPERATOR_TOKEN }, async (_, { url }) => {
      expect(await list(url, { OPERATOR_TOKEN })).toMatchObject({
        code: 0,
        out: expect.stringContaining("My company"),
      });
      expect(await list(url)).toMatchObject({ code: 2, err: expect.stringContaining("SERVER_TOKEN") });
      expect(await list(url, { SERVER_TOKEN: "x" })).toMatchObject({
        code: 2,
        err: expect.stringContaining("OPERATOR_TOKEN"),
      });
      const wrong = await list(url, { OPERATOR_TOKEN: OPERATOR_TOKEN.replace("an", "no") });
      expect(wrong).toMatchObject({ code: 1, err: "Send OPERATOR_TOKEN as a bearer token\n" });
      expect(await list("http://billing.example.com", { OPERATOR_TOKEN })).toMatchObject({ code: 2 });
    });
    expect(await list("http://127.0.0.1:1", { OPERATOR_TOKEN })).toMatchObject({
      code: 1,
      err: expect.stringContaining("Cannot reach http://127.0.0.1:1"),
    });
  });

  test.each([
    ["a page of something else", () => new Response("<html>hello</html>"), "is no Meterhouse server"],
    ["JSON of something else", () => Response.json({ hello: 1 }, { status: 201 }), "is no Meterhouse server"],
    ["an error without a reason", () => new Response("no", { status: 404 }), "is no Meterhouse server"],
    ["no answer", () => new Promise<Response>(() => undefined), "it does not answer"],
    ["an answer that does not end", () => new Response(new ReadableStream()), "it does not answer"],
  ])("names a URL that gives %s, within seconds", async (_, answer, reason) => {
    const { hello_ms } = LIMITS;
    Object.assign(LIMITS, { hello_ms: 500 });
    const other = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 0, fetch: answer });
    const url = `http://127.0.0.1:${other.port}`;
    for (const env of [{ OPERATOR_TOKEN }, { SERVER_TOKEN: "x" }]) {
      const words = ["search", "usage", "--server", url];
      const { code, err } = await runHere(words, { ...place.env, ...env });
      expect([code, err]).toEqual([1, expect.stringContaining(reason)]);
      expect(err).toContain(url);
    }
    Object.assign(LIMITS, { hello_ms });
    await other.stop(true);
  });

  test("is refused where the server has no OPERATOR_TOKEN, or one that is too short", async () => {
    await serveHere(place.env, async (_, { url }) => {
      expect(await list(url, { OPERATOR_TOKEN })).toMatchObject({
        code: 1,
        err: expect.stringContaining("are off"),
      });
      expect((await fetch(`${url}/operator`)).status).toBe(404);
    });
    const short = await runHere(["serve"], { ...place.env, OPERATOR_TOKEN: "x".repeat(31) });
    expect(short).toMatchObject({
      code: 78,
      err: expect.stringContaining("OPERATOR_TOKEN must be at least 32"),
    });
  });

  test("those who try tokens are refused soon, also with the right one", async () => {
    await serveHere({ ...place.env, OPERATOR_TOKEN }, async (_, { url }) => {
      const statuses: number[] = [];
      for (let i = 0; i <= SHARED_LIMITS.refused_minute; i++) {
        const answer = await fetch(`${url}/operator`, { headers: { authorization: `Bearer ${i}` } });
        statuses.push(answer.status);
      }
      expect(statuses.indexOf(429)).toBe(SHARED_LIMITS.refused_minute);
      const right = await fetch(`${url}/operator`, {
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}` },
      });
      expect(right.status).toBe(429);
    });
  });
});
