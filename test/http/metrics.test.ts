import { expect, test } from "bun:test";
import { openDeps } from "../../src/server/open_deps.ts";
import { listen } from "../../src/server/listen.ts";
import { readConfig } from "../../src/core/config.ts";
import { makeCommandFolder } from "../support/process.ts";

const METRICS_TOKEN = "0123456789-0123456789-0123456789";

/** What /metrics answers at both ports, with no token, a wrong one and the right one. */
async function statuses(settings: Record<string, string>) {
  const place = await makeCommandFolder();
  const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal", ...settings }), {
    without_usage: true,
  });
  const server = await listen(deps);
  try {
    const ask = async (url: string | null) => {
      if (url === null) return null;
      const found = [];
      for (const token of [undefined, "wrong", `${METRICS_TOKEN}0`, METRICS_TOKEN]) {
        const headers: Record<string, string> =
          token === undefined ? {} : { authorization: `Bearer ${token}` };
        const answer = await fetch(url, { headers });
        const text = await answer.text();
        expect(text.includes("process_cpu")).toBe(answer.status === 200);
        expect(text).not.toContain("heap_space");
        if (answer.status === 401) expect(answer.headers.get("www-authenticate")).toBe("Bearer");
        found.push(answer.status);
      }
      return found;
    };
    const own = server.metrics_url;
    if (own !== null) {
      expect((await fetch(own, { method: "POST" })).status).toBe(404);
      expect((await fetch(new URL("/api/v1/clients", own))).status).toBe(404);
    }
    return [await ask(`${server.url}/metrics`), await ask(own)];
  } finally {
    await server.stop();
    await deps.close();
    place.remove();
  }
}

test.each([
  ["nothing", {}, [404, 404, 404, 404], null],
  ["a token", { METRICS_TOKEN }, [401, 401, 401, 200], null],
  ["a port", { METRICS_PORT: "0" }, [404, 404, 404, 404], [200, 200, 200, 200]],
  ["both", { METRICS_TOKEN, METRICS_PORT: "0" }, [404, 404, 404, 404], [401, 401, 401, 200]],
] as const)("with %s set", async (_, settings, public_port, own_port) => {
  expect(await statuses(settings)).toEqual([[...public_port], own_port === null ? null : [...own_port]]);
});

test("a short token and the same port twice stop the start", () => {
  expect(() => readConfig({ METRICS_TOKEN: "short" })).toThrow("METRICS_TOKEN must be at least 32 letters");
  expect(() => readConfig({ PORT: "3000", METRICS_PORT: "3000" })).toThrow(
    "METRICS_PORT must be another than PORT",
  );
});
