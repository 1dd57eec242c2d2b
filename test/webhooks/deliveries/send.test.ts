import { afterEach, beforeAll, describe, expect, test } from "bun:test";
import { connect, createServer } from "node:net";
import { makeCertificate } from "../../support/certificate.ts";
import { type Message, type SendOptions, send } from "../../../src/webhooks/deliveries/send.ts";

// One attempt against real listeners on this machine; only the resolver is made up.

const servers: { stop(force?: boolean): unknown }[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) void server.stop(true);
});

function serve(answer: (request: Request) => Response | Promise<Response>): number {
  const server = Bun.serve({ port: 0, hostname: "127.0.0.1", idleTimeout: 60, fetch: answer });
  servers.push(server);
  return server.port ?? 0;
}

/** Answers with these bytes, and then as told. */
function serveRaw(bytes: string, then: "end" | "wait"): number {
  const listener = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(bytes);
        if (then === "end") socket.end();
      },
    },
  });
  servers.push(listener);
  return listener.port;
}

function attempt(url: string, options: Partial<SendOptions> = {}) {
  const message: Message = { url, headers: { "content-type": "application/json" }, body: "{}" };
  return send(message, { is_production: false, stop: new AbortController().signal, ...options });
}

describe("send", () => {
  test("only the beginning of an answer is read, at most 1 KB of it, however long it is", async () => {
    let sent = 0;
    const port = serve(() => {
      const chunk = new Uint8Array(64 * 1_024).fill(97);
      const body = new ReadableStream({
        async pull(controller) {
          sent += chunk.length;
          controller.enqueue(chunk);
          await Bun.sleep(1);
        },
      });
      return new Response(body);
    });
    const outcome = await attempt(`http://127.0.0.1:${port}/`);
    expect(outcome).toMatchObject({ status_code: 200, error: null });
    expect(outcome.response_excerpt).toBe("a".repeat(1_024));
    // The connection is closed: nothing more is sent, once what lay in buffers is gone.
    for (let before = -1; before !== sent; await Bun.sleep(200)) before = sent;
  });

  test("an excerpt is text of at most 1 KB that can be stored, whatever the bytes", async () => {
    const bytes = new Uint8Array(2_000).map((_, i) => (i % 2 === 0 ? 0xff : 0));
    const port = serve(() => new Response(bytes));
    const { response_excerpt } = await attempt(`http://127.0.0.1:${port}/`);
    expect(Buffer.byteLength(response_excerpt ?? "")).toBeLessThanOrEqual(1_024);
    expect(response_excerpt).not.toContain("\0");
    expect(response_excerpt?.isWellFormed()).toBeTrue();
  });

  test("a packed answer is not unpacked", async () => {
    const packed = Bun.gzipSync(new Uint8Array(1_000_000));
    const port = serve(() => new Response(packed, { headers: { "content-encoding": "gzip" } }));
    const { status_code, response_excerpt } = await attempt(`http://127.0.0.1:${port}/`);
    expect(status_code).toBe(200);
    expect(Buffer.byteLength(response_excerpt ?? "")).toBeLessThanOrEqual(1_024);
  });

  test("no answer in time is a failure that says so", async () => {
    const port = serve(() => new Promise<Response>(() => undefined));
    const outcome = await attempt(`http://127.0.0.1:${port}/`, { timeout_ms: 300 });
    expect(outcome).toMatchObject({ status_code: null, error: "No answer within 0.3 s" });
    expect(outcome.duration_ms).toBeWithin(290, 1_500);
  });

  test("a status counts although its body never ends", async () => {
    const port = serveRaw("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nhello", "wait");
    const outcome = await attempt(`http://127.0.0.1:${port}/`, { timeout_ms: 300 });
    expect(outcome).toMatchObject({ status_code: 200, response_excerpt: "hello", error: null });
  });

  test("what is no HTTP answer, and a port where nobody listens, are failures", async () => {
    const port = serveRaw("", "end");
    expect((await attempt(`http://127.0.0.1:${port}/`)).error).toStartWith("Cannot reach the endpoint: ");
    const refused = await attempt("http://127.0.0.1:1/");
    expect(refused).toMatchObject({ status_code: null, error: "Cannot reach the endpoint: ECONNREFUSED" });
  });

  test("a name that resolves to nothing, or never, is a failure", async () => {
    const nothing = await attempt("https://hooks.example.test/", {
      resolve: () => Promise.reject(Object.assign(new Error("no such host"), { code: "ENOTFOUND" })),
    });
    expect(nothing.error).toBe("The host can't be resolved");
    const never = await attempt("https://hooks.example.test/", {
      timeout_ms: 200,
      resolve: () => new Promise<string[]>(() => undefined),
    });
    expect(never.error).toBe("No answer within 0.2 s");
  });

  test("a stop cuts an attempt off", async () => {
    const port = serve(() => new Promise<Response>(() => undefined));
    const stop = new AbortController();
    const under_way = attempt(`http://127.0.0.1:${port}/`, { stop: stop.signal });
    setTimeout(() => stop.abort(), 50);
    expect((await under_way).duration_ms).toBeLessThan(9_000);
  });
});

describe("send() to what a name resolves to", () => {
  test.each([
    [["10.0.0.1"]],
    [["169.254.169.254"]],
    [["127.0.0.1"]],
    [["::1"]],
    [["::ffff:127.0.0.1"]],
    [["8.8.8.8", "10.0.0.1"]],
    [["0.0.0.0"]],
    [["not an address"]],
  ])("refuses %p, without telling the address", async (addresses) => {
    const outcome = await attempt("https://hooks.example.test/", {
      is_production: true,
      resolve: () => Promise.resolve(addresses),
    });
    expect(outcome).toMatchObject({
      status_code: null,
      error: "The URL must lead to public addresses: local, private and reserved ones are refused",
    });
  });

  test("a name is resolved once for each attempt: the address that was checked is the one that is called", async () => {
    const hosts: (string | null)[] = [];
    const port = serve((request) => {
      hosts.push(request.headers.get("host"));
      return new Response("here");
    });
    let asked = 0;
    const rebinding = () => {
      asked += 1;
      return Promise.resolve([asked === 1 ? "127.0.0.1" : "10.0.0.1"]);
    };
    const url = `http://hooks.example.test:${port}/`;
    expect(await attempt(url, { resolve: rebinding })).toMatchObject({ status_code: 200 });
    expect([asked, hosts]).toEqual([1, [`hooks.example.test:${port}`]]);
    expect((await attempt(url, { resolve: rebinding })).error).toContain("must lead to public addresses");
    expect(hosts.length).toBe(1);
  });

  test("the next address is tried where nobody listens on the first", async () => {
    const port = serve(() => new Response("here"));
    const resolve = () => Promise.resolve(["127.0.0.2", "127.0.0.1"]);
    const outcome = await attempt(`http://hooks.example.test:${port}/`, { resolve });
    expect(outcome).toMatchObject({ status_code: 200, response_excerpt: "here" });
  });
});

describe("send() over TLS", () => {
  let cert: string;
  let key: string;
  beforeAll(() => {
    ({ cert, key } = makeCertificate("hooks.example.test"));
  });

  function serveTls(): number {
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      tls: { cert, key },
      fetch: (request) => new Response(request.headers.get("host")),
    });
    servers.push(server);
    return server.port ?? 0;
  }

  const resolve = () => Promise.resolve(["127.0.0.1"]);

  test("the certificate must be for the URL's host, though the address is what is connected to", async () => {
    const port = serveTls();
    const right = await attempt(`https://hooks.example.test:${port}/`, { resolve, ca: cert });
    expect(right).toMatchObject({ status_code: 200, response_excerpt: `hooks.example.test:${port}` });
    const wrong = await attempt(`https://other.example.test:${port}/`, { resolve, ca: cert });
    expect(wrong).toMatchObject({
      status_code: null,
      error: "Cannot reach the endpoint: ERR_TLS_CERT_ALTNAME_INVALID",
    });
  });

  describe("through a proxy of the environment", () => {
    afterEach(() => {
      delete process.env.HTTPS_PROXY;
      delete process.env.NO_PROXY;
    });

    /** A proxy that connects to this machine whatever it is asked for; returns what it was asked for. */
    function openProxy(): string[] {
      const asked: string[] = [];
      const proxy = createServer((caller) => {
        caller.once("data", (head) => {
          asked.push(head.toString().split("\r\n")[0] ?? "");
          const port = Number(/:(\d+) /.exec(asked.at(-1) ?? "")?.[1]);
          const onward = connect(port, "127.0.0.1", () => {
            caller.write("HTTP/1.1 200 OK\r\n\r\n");
            caller.pipe(onward).pipe(caller);
          });
          onward.on("error", () => caller.destroy());
        });
        caller.on("error", () => undefined);
      });
      proxy.listen(0, "127.0.0.1");
      servers.push({ stop: () => proxy.close() });
      const bound = proxy.address();
      if (bound === null || typeof bound === "string") throw new Error("The proxy has no port");
      process.env.HTTPS_PROXY = `http://127.0.0.1:${bound.port}`;
      process.env.NO_PROXY = "";
      return asked;
    }

    test("the proxy is asked for the checked address, and the certificate is the URL's host's", async () => {
      const port = serveTls();
      const asked = openProxy();
      const right = await attempt(`https://hooks.example.test:${port}/`, { resolve, ca: cert });
      expect(right).toMatchObject({ status_code: 200, response_excerpt: `hooks.example.test:${port}` });
      expect(asked).toEqual([`CONNECT 127.0.0.1:${port} HTTP/1.1`]);
      const wrong = await attempt(`https://other.example.test:${port}/`, { resolve, ca: cert });
      expect(wrong.error).toBe("Cannot reach the endpoint: ERR_TLS_CERT_ALTNAME_INVALID");
    });

    test("what leads to private addresses is refused before the proxy hears of it", async () => {
      const asked = openProxy();
      const private_only = () => Promise.resolve(["10.0.0.1"]);
      const outcome = await attempt("https://hooks.example.test/", { resolve: private_only, ca: cert });
      expect(outcome.error).toContain("must lead to public addresses");
      expect(asked).toEqual([]);
    });
  });

  test("a certificate that nobody vouches for is refused", async () => {
    const outcome = await attempt(`https://hooks.example.test:${serveTls()}/`, { resolve });
    expect(outcome).toMatchObject({
      status_code: null,
      error: "Cannot reach the endpoint: DEPTH_ZERO_SELF_SIGNED_CERT",
    });
  });
});
