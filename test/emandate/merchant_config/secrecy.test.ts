import { afterAll, beforeAll, expect, test } from "bun:test";
import { createPrivateKey, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import postgres from "postgres";
import { makeIdentity, makeKey } from "../../support/certificates.ts";
import {
  makePreparedFolder,
  type CommandFolder,
  type ServerProcess,
  startServer,
} from "../../support/process.ts";
import type { Json } from "../../support/harness.ts";

// A private key is looked for everywhere that the service writes to.

const private_key_pem = makeKey();
const wrong_key_pem = makeKey("rsa 1024");
const { certificate_pem: scheme_certificate_pem } = makeIdentity();
const secrets_key = randomBytes(32);
let place: CommandFolder;
let server: ServerProcess;

beforeAll(async () => {
  place = await makePreparedFolder();
  const settings = {
    SECRETS_KEY: secrets_key.toString("base64"),
    FPX_URL: "http://127.0.0.1:9",
    LOG_LEVEL: "trace",
  };
  server = await startServer({ ...place.env, ...settings });
});
afterAll(async () => {
  server.kill("SIGKILL");
  await server.exited;
  place.remove();
});

/** Parts of a key as they could be written down: lines of its text, its bytes, and its secret numbers. */
function tracesOf(pem: string): Buffer[] {
  const lines = pem.split("\n").filter((line) => line.length >= 32 && !line.includes("-----"));
  const key = createPrivateKey(pem);
  const { d = "", p = "", q = "" } = key.export({ format: "jwk" });
  const der = key.export({ type: "pkcs8", format: "der" });
  const numbers = [d, p, q].map((number) => Buffer.from(number, "base64url"));
  return [
    ...lines.map((line) => Buffer.from(line)),
    ...[der, ...numbers].flatMap((bytes) => [
      bytes.subarray(-48),
      Buffer.from(bytes.subarray(-48).toString("hex")),
    ]),
    ...[d, p, q].map((number) => Buffer.from(number.slice(0, 40))),
  ];
}

function expectNone(where: string, bytes: Buffer, traces: readonly Buffer[]): void {
  for (const [i, trace] of traces.entries())
    expect(bytes.includes(trace), `${where}, trace ${i}`).toBe(false);
}

/** Everything in the transactional database, as it lies there. */
async function everythingStored(): Promise<[where: string, bytes: Buffer][]> {
  const files = readdirSync(place.data_dir).filter((file) => !file.startsWith("usage"));
  const read = files.map((file): [string, Buffer] => [file, readFileSync(join(place.data_dir, file))]);
  const { DATABASE_URL: url } = place.env;
  if (url === undefined) return read;
  const sql = postgres(url);
  const tables = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'`;
  for (const { table_name } of tables) {
    read.push([table_name, Buffer.from(JSON.stringify(await sql`SELECT * FROM ${sql(table_name)}`))]);
  }
  await sql.end();
  return read;
}

test("a private key reaches no answer, no log, no audit entry and no byte of the database", async () => {
  const api = await server.signIn();
  const ids = { exchange_id: "EX00000001", seller_id: "SE00000001" };
  const answers = [
    await api("PUT", "/emandate/config", {
      private_key_pem,
      scheme_certificate_pem,
      ...ids,
      connector: "fpx",
    }),
    await api("PUT", "/emandate/config", { private_key_pem: wrong_key_pem }),
    await api("PUT", "/emandate/config", { private_key_pem, max_retries: 9 }),
    await api("PUT", "/emandate/config", { private_key_pem, key: private_key_pem }),
    await api("PUT", "/emandate/config", JSON.stringify({ private_key_pem }).slice(0, -1)),
    await api("GET", "/emandate/config"),
    await api("GET", "/emandate/banks"),
    await api("GET", "/audit-log?limit=200"),
    await api("GET", "/events?limit=100"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 422, 422, 422, 400, 200, 200, 200, 200]);
  expect(answers[5]?.body.data.has_private_key).toBe(true);
  // What is looked for is told of where it should be: the change, without the key.
  const entry = answers[7]?.body.data.find(({ operation }: Json) => operation === "update_emandate_config");
  expect(entry.withheld).toEqual(expect.arrayContaining(["/private_key_pem", "/scheme_certificate_pem"]));
  expect(entry.input).toMatchObject({ ...ids, connector: "fpx" });
  expect(entry.changes).toMatchObject({ connector: { old: "sandbox", new: "fpx" } });
  expect(entry.changes.certificate_fingerprint.new).toMatch(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/);

  server.kill("SIGTERM");
  await server.exited;
  const traces = [
    ...tracesOf(private_key_pem),
    ...tracesOf(wrong_key_pem),
    secrets_key,
    Buffer.from(secrets_key.toString("base64")),
  ];
  const stored = await everythingStored();
  for (const [where, bytes] of [
    ...stored,
    ["answers", Buffer.from(JSON.stringify(answers.map(({ body }) => body)))] as const,
    ["logs", Buffer.from(server.printed())] as const,
  ]) {
    expectNone(where, bytes, traces);
  }
  // The search finds what is there.
  expect(server.printed()).toContain("update_emandate_config");
  expect(stored.some(([, bytes]) => bytes.includes(Buffer.from("EX00000001")))).toBe(true);
  expect(() => expectNone("the key itself", Buffer.from(private_key_pem), traces)).toThrow();
});
