import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Api, Json } from "../support/harness.ts";
import { type CommandFolder, makePreparedFolder, runHere, startServer } from "../support/process.ts";
import { whyNoSqlite } from "../support/why_no_sqlite.ts";

const reason = whyNoSqlite();
if (reason !== null) console.log(`skipped: ${reason}`);

let place: CommandFolder;
beforeAll(async () => void (place = await makePreparedFolder()));
afterAll(() => place.remove());

const EMAIL = "qx7.lovelace@example.com";
/** Enough that the erasure takes a while, and frees pages. */
const MANDATES = 40;

/** The files of the data directory that hold a text. */
function filesWith(text: string, folder = place.data_dir): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return filesWith(text, path);
    return statSync(path).isFile() && readFileSync(path).toString("latin1").toLowerCase().includes(text)
      ? [name]
      : [];
  });
}

async function addCustomer(api: Api): Promise<void> {
  for (let i = 0; i < MANDATES; i++) {
    const customer = { customer_name: "Qx7 Lovelace", customer_email: EMAIL, customer_phone: "012-345 6700" };
    const made = await api("POST", "/emandate/mandates", customer, {
      "idempotency-key": crypto.randomUUID(),
    });
    expect(made.status).toBe(201);
    const cancelled = await api("POST", `/emandate/mandates/${made.body.data.id}/cancel`, {
      reason: "Qx7 Lovelace left",
    });
    expect(cancelled.status).toBe(200);
  }
}

test.skipIf(reason !== null)(
  "erase person, beside a server that is killed: it goes on, and --rewrite leaves no byte in any file",
  async () => {
    const words = ["erase", "person", "--company", "1", "--email", EMAIL];
    const server = await startServer(place.env);
    await addCustomer(await server.signIn());
    const shown = await runHere(words, place.env);
    expect([shown.code, shown.out]).toEqual([
      0,
      expect.stringMatching(/customer 1 .*40 mandates[^]*say --yes/),
    ]);
    const asked = await runHere([...words, "--yes"], place.env);
    expect([asked.code, asked.out]).toEqual([0, expect.stringMatching(/^Erasure 1: \d+ records erased/)]);
    server.kill("SIGKILL");
    await server.exited;
    expect(filesWith("qx7")).not.toEqual([]);
    const again = await startServer(place.env);
    const api = await again.signIn();
    let erasure: Json;
    do {
      [erasure] = (await api("GET", "/people/erasures")).body.data;
      await Bun.sleep(50);
    } while (erasure.status === "pending");
    expect(erasure).toMatchObject({ id: 1, subjects: [{ kind: "customer", id: 1 }] });
    again.kill("SIGTERM");
    expect(await again.exited).toBe(0);
    expect((await runHere(["erase", "--rewrite"], place.env)).code).toBe(0);
    expect(filesWith("qx7")).toEqual([]);
  },
);

test("it refuses wrong words, and says that nobody has the email", async () => {
  for (const words of [
    ["person", "--company", "1"],
    ["person", "--company", "1", "--user", "1", "--email", EMAIL],
    ["person", "--user", "1"],
    ["someone", "--company", "1"],
    ["--company", "1", "--metadata", "a=b", "--server", "http://127.0.0.1:1"],
  ]) {
    expect([words, (await runHere(["erase", ...words], place.env)).code]).toEqual([words, 2]);
  }
  const nobody = await runHere(["erase", "person", "--company", "1", "--email", EMAIL, "--yes"], place.env);
  expect([nobody.code, nobody.err]).toEqual([1, expect.stringContaining("Person with this email")]);
});
