import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Certificate, makeCertificate } from "../support/certificate.ts";
import { type Deployment, makeDeployment } from "../support/deployment.ts";
import { apiOf, PASSWORD } from "../support/harness.ts";
import { run } from "../support/process.ts";
import { whyNoUsageOnClickHouse } from "../support/usage_on_clickhouse.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

const USER = "meter:house";
const SECRET = "p@ss/w:rd%";

describe.skipIf(reason !== null)("ClickHouse over TLS", () => {
  let deployment: Deployment;
  let server: ReturnType<typeof Bun.serve>;
  let certificate: Certificate;
  const authorizations = new Set<string | null>();
  beforeAll(async () => {
    certificate = makeCertificate("127.0.0.1");
    const { cert, key } = certificate;
    deployment = await makeDeployment(1);
    const { origin, pathname: database } = new URL(deployment.settings.USAGE_URL ?? "");
    server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      tls: { cert, key },
      async fetch(request) {
        const { pathname, search } = new URL(request.url);
        authorizations.add(request.headers.get("authorization"));
        const { method, headers } = request;
        const body = await request.arrayBuffer();
        const answer = await fetch(`${origin}${pathname}${search}`, { method, headers, body });
        return new Response(await answer.arrayBuffer(), answer);
      },
    });
    const account = [USER, SECRET].map(encodeURIComponent).join(":");
    deployment.settings.USAGE_URL = `https://${account}@127.0.0.1:${server.port}${database}`;
  }, 120_000);
  afterAll(async () => {
    await deployment?.stop();
    await server?.stop(true);
  });

  test("is asked with the user and password of its address, by a certificate that is trusted", async () => {
    const instance = await deployment.start({ NODE_EXTRA_CA_CERTS: certificate.path });
    await deployment.shared(instance);
    const api = apiOf(instance.url, {});
    const login = await api("POST", "/login", { email: "admin@example.com", password: PASSWORD });
    const admin = apiOf(instance.url, { authorization: `Bearer ${login.body.token}` });
    expect((await admin("POST", "/usage/search", {})).body.data).toEqual([]);
    expect((await api("GET", "origin:/ready")).status).toBe(200);
    const basic = Buffer.from(`${USER}:${SECRET}`).toString("base64");
    expect([...authorizations]).toEqual([`Basic ${basic}`]);
  }, 60_000);

  test("is not asked where its certificate is nobody's that is trusted", async () => {
    authorizations.clear();
    const DATA_DIR = mkdtempSync(join(tmpdir(), "meterhouse-"));
    const refused = await run(["serve"], { ...deployment.settings, DATA_DIR, PORT: "0" });
    expect(refused.code).not.toBe(0);
    expect(refused.err).toMatch(
      /^Cannot open ClickHouse at 127\.0\.0\.1:\d+\/\w+: self signed certificate\n$/,
    );
    expect([...authorizations]).toEqual([]);
  }, 60_000);
});
