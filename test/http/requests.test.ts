import { describe, expect, test } from "bun:test";
import { LIMITS } from "../../src/http/limits.ts";
import {
  type Answer,
  PASSWORD,
  readAllMetrics,
  readMetrics,
  startService,
  TEST_STORE,
  useService,
} from "../support/harness.ts";

const service = useService();

describe("bodies", () => {
  test.each(["{", "nope", '{"name": "x"', "{'name': 1}"])("malformed JSON is a 400: %s", async (body) => {
    const { status, body: answer } = await service.api("POST", "/clients", body);
    expect(status).toBe(400);
    expect(answer.error).toStartWith("The body is not JSON");
  });

  test("nothing is sent as an empty object is, whatever type is named for it", async () => {
    const nothing = await service.api("POST", "/clients", "");
    expect([nothing.status, nothing.body.details]).toEqual([
      422,
      [{ path: "/name", message: "is required" }],
    ]);
    const key = (
      await service.api("POST", "/api-keys", { name: "Site", role: "agent", environment: "staging" })
    ).body.data;
    expect((await service.api("POST", `/api-keys/${key.id}/rotate`, "")).status).toBe(200);
    const chunked = new ReadableStream({ start: (controller) => controller.close() });
    const headers = { "content-type": "application/json" };
    const login = await fetch(`${service.url}/api/v1/login`, { method: "POST", body: chunked, headers });
    expect(login.status).toBe(422);
    expect((await service.api("POST", "/clients", " ")).status).toBe(400);
  });

  test("invalid UTF-8 is a 400", async () => {
    const token = (
      await service.anonymous("POST", "/login", {
        email: service.admin_email,
        password: "correct horse battery",
      })
    ).body.token;
    const body = new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    expect((await fetch(`${service.url}/api/v1/clients`, { method: "POST", body, headers })).status).toBe(
      400,
    );
  });

  test("a body of the limit is read, one byte more is a 413 in JSON", async () => {
    const exactly = (bytes: number) => `{"name":"${"x".repeat(bytes - 11)}"}`;
    expect((await service.api("POST", "/clients", exactly(LIMITS.body_bytes))).status).toBe(422);
    const over = await service.api("POST", "/clients", exactly(LIMITS.body_bytes + 1));
    expect(over).toMatchObject({ status: 413, body: { error: "The body is over 5242880 bytes" } });
  });

  test("a body without a length is bounded as well", async () => {
    let sent = 0;
    const body = new ReadableStream({
      pull(controller) {
        sent += 65_536;
        if (sent > 2 * LIMITS.body_bytes) controller.close();
        else controller.enqueue(new Uint8Array(65_536).fill(0x20));
      },
    });
    const token = (
      await service.anonymous("POST", "/login", {
        email: service.admin_email,
        password: "correct horse battery",
      })
    ).body.token;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${service.url}/api/v1/clients`, { method: "POST", body, headers });
    expect(answer.status).toBe(413);
  });

  test("one that is cut off is the caller's doing, not an internal error", async () => {
    const own = await startService();
    const login = await own.anonymous("POST", "/login", {
      email: own.admin_email,
      password: "correct horse battery",
    });
    const heads = ["Content-Length: 100", "Transfer-Encoding: chunked"];
    for (const [i, head] of heads.entries()) {
      const socket = await Bun.connect({
        hostname: "127.0.0.1",
        port: Number(new URL(own.url).port),
        socket: { data: () => undefined },
      });
      const lines = [`Authorization: Bearer ${login.body.token}`, "Content-Type: application/json", head];
      socket.write(`POST /api/v1/clients HTTP/1.1\r\nHost: x\r\n${lines.join("\r\n")}\r\n\r\n5\r\n{"a":`);
      await Bun.sleep(50);
      socket.terminate();
      const countRefused = async () => {
        const metrics = await readAllMetrics(own);
        expect(metrics).not.toContain('status="500"');
        const counts = metrics.matchAll(/route="\/api\/v1\/clients",status="400"} (\d+)\n/g);
        return counts.reduce((sum, [, count]) => sum + Number(count), 0);
      };
      while ((await countRefused()) !== i + 1) await Bun.sleep(5);
    }
    await own.stop();
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/xml",
    "application/json; charset=latin1",
  ])("%s is a 415", async (type) => {
    expect((await service.api("POST", "/clients", "name=x", { "content-type": type })).status).toBe(415);
  });

  test("a DELETE needs none, also where the client names a type all the same", async () => {
    const { id } = (await service.api("POST", "/clients", { name: "Short-lived" })).body.data;
    const answer = await service.api("DELETE", `/clients/${id}`, undefined, {
      "content-type": "application/json",
    });
    expect(answer.status).toBe(200);
  });

  test("a missing body is a 422 that names what is missing", async () => {
    expect(await service.api("POST", "/clients")).toMatchObject({
      status: 422,
      body: { details: [{ path: "/name", message: "is required" }] },
    });
  });

  const nested = (depth: number, inside: string) => `${'{"a":'.repeat(depth)}${inside}${"}".repeat(depth)}`;

  test.each([
    ["just too deep", nested(LIMITS.body_depth + 1, "1")],
    ["far too deep", nested(200_000, "1")],
    ["arrays far too deep", `{"name":${"[".repeat(1_000_000)}`],
    ["NUL far down", nested(100_000, '"\\u0000"')],
  ])("a body %s is refused before anything recursive sees it", async (_, body) => {
    const { status, body: answer } = await service.api("POST", "/clients", body);
    expect(status).toBe(422);
    expect(answer.details).toEqual([{ path: "", message: "must be at most 110 levels deep" }]);
  });

  test("brackets in text do not count as depth", async () => {
    expect((await service.api("POST", "/clients", { name: `\\"${"[{".repeat(90)}` })).status).toBe(201);
  });

  test.each([
    [{ name: "a\0b" }, "/name", "must not contain the NUL character"],
    ['{"name":"a\\ud800"}', "/name", "must not contain half of a surrogate pair"],
    ['{"n":{"a/b~c":["\\udc00"]}}', "/n/a~1b~0c/0", "must not contain half of a surrogate pair"],
    ['{"n":{"\\u0000":1}}', "/n", "must not contain the NUL character"],
  ])("text that a database can't keep is refused with its place: %j", async (body, path, message) => {
    const answer = await service.api("POST", "/clients", body);
    expect(answer).toMatchObject({ status: 422, body: { details: [{ path, message }] } });
  });

  test.each(["Application/JSON", "application/json; charset=UTF-8", 'application/json;charset="utf-8"'])(
    "the media type may be written as %s",
    async (type) => {
      expect((await service.api("POST", "/clients", { name: "x" }, { "content-type": type })).status).toBe(
        201,
      );
    },
  );

  test("a field named __proto__ is only an unknown field", async () => {
    const { status, body } = await service.api("POST", "/clients", '{"name":"x","__proto__":{"polluted":1}}');
    expect(status).toBe(422);
    expect(body.details[0].path).toBe("/__proto__");
  });
});

test("NUL in a query is refused like NUL in a body", async () => {
  const { status, body } = await service.api("GET", "/clients?search=a%00b");
  expect(status).toBe(422);
  expect(body.details).toEqual([{ path: "/search", message: "must not contain the NUL character" }]);
});

describe("paths and methods", () => {
  test.each(["/nowhere", "/clients/1/nothing", "/clients//", "/../etc/passwd"])(
    "an unknown path is a JSON 404: %s",
    async (path) => {
      const { status, body } = await service.api("GET", path);
      expect(status).toBe(404);
      expect(body.error).toStartWith("No such path");
    },
  );

  test.each([
    ["PATCH", "/clients/1", "GET, PUT, DELETE"],
    ["DELETE", "/clients", "GET, POST"],
    ["GET", "/login", "POST"],
  ])("a wrong method is a 405 that names the right ones: %s %s", async (method, path, allow) => {
    const { status, headers, body } = await service.api(method, path);
    expect(status).toBe(405);
    expect(headers.get("allow")).toBe(allow);
    expect(body.error).toBeString();
  });
});

describe("every answer", () => {
  test.each(["/clients", "/nowhere", "/clients/abc"])("carries a request id of its own: %s", async (path) => {
    const ids = [await service.api("GET", path), await service.api("GET", path)].map(({ headers }) =>
      headers.get("x-request-id"),
    );
    expect(ids[0]).toMatch(/^[0-9a-f-]{36}$/);
    expect(ids[0]).not.toBe(ids[1]);
  });

  test("to a failure inside says only Internal error", async () => {
    const broken = await startService();
    for (const { store } of broken.instances) await store.close();
    const { status, body, headers } = await broken.anonymous("POST", "/login", {
      email: "a@b.c",
      password: "x",
    });
    // PostgreSQL's driver says that the connection is gone, which is an outage and not a bug.
    const is_outage = TEST_STORE === "postgres";
    expect(status).toBe(is_outage ? 503 : 500);
    expect(headers.get("retry-after")).toBe(is_outage ? "1" : null);
    expect(body.error).toBe(is_outage ? "The database can't be reached: try again" : "Internal error");
    expect(headers.get("x-request-id")).toBeString();
    // A caller that is known only to the database must not be told that its body is broken.
    const posted = await broken.api("POST", "/clients", { name: "x" });
    expect(posted.status).toBe(TEST_STORE === "postgres" ? 503 : 500);
    expect((await broken.anonymous("GET", "origin:/ready")).status).toBe(503);
    expect((await broken.anonymous("GET", "origin:/health")).status).toBe(200);
    await broken.stop().catch(() => undefined);
  });
});

describe("bodies at once", () => {
  test("have a bound together, beyond which they are told to come back", async () => {
    const { bodies_bytes } = LIMITS;
    Object.assign(LIMITS, { bodies_bytes: 1_000 });
    try {
      const refused = await service.api("POST", "/clients", { name: "x", filler: "y".repeat(1_000) });
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
      expect((await service.api("POST", "/clients", { name: "x" })).status).toBe(201);
    } finally {
      Object.assign(LIMITS, { bodies_bytes });
    }
  });
});

describe("probes", () => {
  test("every answer is counted under its own status", async () => {
    const own = await startService();
    await own.anonymous("GET", "/clients");
    await own.api("GET", "/clients/999");
    await own.api("GET", "/clients/abc");
    await own.api("PATCH", "/clients");
    await own.api("GET", "/nowhere");
    const metrics = await readAllMetrics(own);
    const counted = [
      ...metrics.matchAll(/http_requests_total\{method="(\w+)",route="([^"]*)",status="(\d+)"\} (\d+)/g),
    ]
      .map(([, ...parts]) => parts.join(" "))
      .filter((line) => !line.includes("login"));
    expect(counted.toSorted()).toEqual([
      "GET /api/v1/clients 401 1",
      "GET /api/v1/clients/:id 404 1",
      "GET /api/v1/clients/:id 422 1",
      "GET unknown 404 1",
      "PATCH unknown 405 1",
    ]);
    await own.stop();
  });

  test("nothing under /api/v1 is kept by a cache, tokens and keys least of all", async () => {
    const unkept = async (answer: Promise<Answer>) => {
      const { status, headers } = await answer;
      return [status, headers.get("cache-control")];
    };
    const login = { email: service.admin_email, password: PASSWORD };
    expect(await unkept(service.anonymous("POST", "/login", login))).toEqual([200, "no-store"]);
    expect(await unkept(service.anonymous("POST", "/login", { ...login, password: "wrong" }))).toEqual([
      401,
      "no-store",
    ]);
    const key = await service.api("POST", "/api-keys", {
      name: "k",
      role: "ingest",
      environment: "production",
    });
    expect([key.status, key.headers.get("cache-control")]).toEqual([201, "no-store"]);
    const { id, clientId, clientSecret } = key.body.data;
    expect(await unkept(service.anonymous("POST", "/auth/token", { clientId, clientSecret }))).toEqual([
      200,
      "no-store",
    ]);
    expect(await unkept(service.api("POST", `/api-keys/${id}/rotate`, {}))).toEqual([200, "no-store"]);
    expect(await unkept(service.api("GET", "/clients"))).toEqual([200, "no-store"]);
    expect(await unkept(service.api("GET", "/nothing"))).toEqual([404, "no-store"]);
    expect(await unkept(service.api("POST", "/usage/export", { format: "csv" }))).toEqual([
      200,
      "private, no-store",
    ]);
  });

  test("health and readiness answer without a token, metrics with their own", async () => {
    expect(await service.anonymous("GET", "origin:/health")).toMatchObject({
      status: 200,
      body: { status: "ok" },
    });
    expect(await service.anonymous("GET", "origin:/ready")).toMatchObject({
      status: 200,
      body: { status: "ok" },
    });
    await service.api("GET", "/clients");
    const { body, headers } = await readMetrics(service);
    expect(headers.get("content-type")).toStartWith("text/plain");
    expect(body).toMatch(
      /meterhouse_http_requests_total\{method="GET",route="\/api\/v1\/clients\/?",status="200"\} [1-9]/,
    );
    expect(body).toMatch(
      /meterhouse_operation_duration_seconds_count\{operation="list_clients",outcome="ok"\} [1-9]/,
    );
  });
});
