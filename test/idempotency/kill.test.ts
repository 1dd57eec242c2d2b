import { expect, test } from "bun:test";
import { type Api, apiOf, type Json, PASSWORD } from "../support/harness.ts";
import { makePreparedFolder, serveHere } from "../support/process.ts";

const KEY = { "idempotency-key": "killed" };
const post = (api: Api) => api("POST", "/clients", { name: "Killed" }, KEY);
const LOST =
  "The request with this Idempotency-Key was carried out (client 1), but its response was not stored: look the record up";

/** Sends the request to a server that hangs before its Nth transaction, and kills it there. */
async function killBefore(env: Record<string, string>, nth: number): Promise<void> {
  const words = ["bun", "test/idempotency/hanging_server.ts", String(nth)];
  const child = Bun.spawn(words, { env, stdout: "pipe", stderr: "inherit" });
  const decoder = new TextDecoder();
  const reader = child.stdout.getReader();
  let printed = "";
  const until = async (line: RegExp): Promise<string> => {
    for (;;) {
      const found = line.exec(printed)?.[1];
      if (found !== undefined) return found;
      const { value, done } = await reader.read();
      if (done) throw new Error(`The server ended: ${printed}`);
      printed += decoder.decode(value, { stream: true });
    }
  };
  const url = await until(/listens on (\S+)/);
  const { body } = await apiOf(url, {})("POST", "/login", { email: "admin@example.com", password: PASSWORD });
  const answer = post(apiOf(url, { authorization: `Bearer ${body.token}` })).then(
    () => "answered",
    () => "cut off",
  );
  await until(/(hangs)/);
  child.kill("SIGKILL");
  expect(await answer).toBe("cut off");
  await child.exited;
}

async function created(api: Api) {
  const clients = (await api("GET", "/clients")).body.data.map(({ name }: Json) => name);
  const told = (await api("GET", "/audit-log?operation=create_client")).body.meta.total;
  return { clients, told };
}

test.each<{ nth: number; done: number; repeat: unknown[] }>([
  // After the claim, before the change: the next start knows that nobody works on it any more.
  { nth: 2, done: 0, repeat: [201, undefined] },
  // After the change, before its answer is kept.
  { nth: 3, done: 1, repeat: [409, LOST] },
])(
  "kill -9 before transaction $nth of a POST with a key: a repeat never does the change twice",
  async ({ nth, done, repeat }) => {
    const place = await makePreparedFolder();
    await killBefore(place.env, nth);
    await serveHere(place.env, async (api) => {
      expect(await created(api)).toEqual({ clients: Array(done).fill("Killed"), told: done });
      const { status, body } = await post(api);
      expect([status, body.error]).toEqual(repeat);
      const all = status === 201 ? 1 : done;
      expect(await created(api)).toEqual({ clients: Array(all).fill("Killed"), told: all });
    });
    place.remove();
  },
);
