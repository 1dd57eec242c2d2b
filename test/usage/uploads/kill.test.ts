import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect } from "node:net";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Api, type Json, PASSWORD } from "../../support/harness.ts";
import { type CommandFolder, makePreparedFolder, serveHere, startServer } from "../../support/process.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { addSubscription, ms, search } from "../fixtures.ts";

/** One in every run, at another moment each time; `KILL_ROUNDS=50 bun test test/usage/uploads/kill.test.ts` makes more of them. */
const ROUNDS = Number(process.env.KILL_ROUNDS ?? 1);
/** Steps of a run are of a thousand rows or so. */
const ROWS = TESTS_ALL ? 120_000 : 60_000;
/** One row in so many is of nobody. */
const ROWS_A_REJECT = 10_000;
const T0 = ms("2024-05-01T00:00:00Z");
const MATCHING = {
  subscription: { column: "who" },
  timestamp: { column: "at" },
  usage: { column: "amount" },
};
const FILES = "/usage/imports/files";

let place: CommandFolder;

beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => place.remove());

const uploads = () => join(place.data_dir, "usage_uploads");
const filesOf = (): string[] => {
  try {
    return readdirSync(uploads());
  } catch {
    return [];
  }
};

async function waitFor(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await Bun.sleep(5);
}

/** Begins to send a file, and sends no more than its beginning. */
async function beginToSend(url: string, text: string): Promise<void> {
  const { hostname, port, origin } = new URL(url);
  const response = await fetch(`${origin}/api/v1/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "admin@example.com", password: PASSWORD }),
  });
  const { token }: { token: string } = JSON.parse(await response.text());
  const socket = connect(Number(port), hostname);
  // It is reset when the service is killed.
  socket.on("error", () => undefined);
  socket.write(
    [
      `POST /api/v1${FILES}?file_name=cut.csv HTTP/1.1`,
      `host: ${hostname}`,
      `authorization: Bearer ${token}`,
      "content-type: text/csv",
      `content-length: ${text.length + 1_000_000}`,
      "",
      text,
    ].join("\r\n"),
  );
}

test("kill -9 while a file is sent: nothing of it is there, and it can be sent again", async () => {
  const server = await startServer(place.env);
  const text = `who,at,amount\n${"s1,2024-05-01T00:00:00Z,1\n".repeat(2_000)}`;
  await beginToSend(server.url, text);
  await waitFor(() => filesOf().some((name) => statSync(join(uploads(), name)).size > 0));
  server.kill("SIGKILL");
  await server.exited;
  expect(filesOf()).toEqual([expect.stringMatching(/\.part$/)]);
  await serveHere(place.env, async (api) => {
    expect((await api("GET", FILES)).body.data).toEqual([]);
    const sent = await api("POST", `${FILES}?file_name=cut.csv`, text, { "content-type": "text/csv" });
    expect(sent).toMatchObject({ status: 201, body: { data: { lines: 2_001 } } });
  });
});

test(
  "kill -9 during a run: it goes on by itself, stores every row once and names every rejected one once",
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const name = `killed-${round}`;
      const rejects = ROWS / ROWS_A_REJECT;
      await serveHere(place.env, (api) => addSubscription({ api }, name));
      const rows = Array.from({ length: ROWS }, (_, i) =>
        i % ROWS_A_REJECT === 7 ? `nobody,${T0 + i},1` : `${name},${T0 + i},${i % 7}`,
      );
      const file = `who,at,amount\n${rows.join("\n")}\n`;
      const server = await startServer(place.env);
      const api = await server.signIn();
      const sent = await api("POST", `${FILES}?file_name=${name}.csv`, file, { "content-type": "text/csv" });
      const { id } = sent.body.data;
      expect((await api("POST", `/usage/imports/${id}/run`, { matching: MATCHING })).status).toBe(202);
      const uploadOf = async (by: Api): Promise<Json> => (await by("GET", `/usage/imports/${id}`)).body.data;
      await waitFor(async () => (await uploadOf(api)).rows > 0);
      await Bun.sleep(Math.floor(Math.random() * 200));
      server.kill("SIGKILL");
      await server.exited;
      await serveHere(place.env, async (renewed) => {
        await waitFor(async () => (await uploadOf(renewed)).status !== "running");
        const { accepted, duplicates, ...ended } = await uploadOf(renewed);
        expect(ended).toMatchObject({
          status: "finished",
          rows: ROWS,
          rejected: rejects,
          has_file: false,
          error: null,
        });
        expect(accepted + duplicates).toBe(ROWS - rejects);
        const rejected: string = (await renewed("GET", `/usage/imports/${id}/rejected`)).body;
        const places = rejected
          .trim()
          .split("\r\n")
          .slice(1)
          .map((line) => Number(line.split(",")[0]));
        expect(places).toEqual(Array.from({ length: rejects }, (_, i) => i * ROWS_A_REJECT + 8));
        const total = rows.reduce((sum, row, i) => sum + (row.startsWith("nobody") ? 0 : i % 7), 0);
        const { data } = await search(renewed, { external_subscription_ids: [name], aggregate: true });
        expect(data).toMatchObject([{ event_count: ROWS - rejects, total_usage: total }]);
      });
    }
  },
  ROUNDS * 120_000,
);
