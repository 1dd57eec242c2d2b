import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { PgTable } from "drizzle-orm/pg-core";
import { readConfig } from "../../../src/core/config.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { TABLES } from "../../../src/server/schema.ts";
import { makePreparedFolder, TESTED_COMMAND } from "../../support/process.ts";
import { apiOf, PASSWORD } from "../../support/harness.ts";
import { OAuthClient, open, pkce, send } from "./fixtures.ts";

/** Starts the service in a process of its own that logs all it can to a file. */
async function startLogged(env: Record<string, string>, file: string) {
  const output = Bun.file(file);
  const child = Bun.spawn([...TESTED_COMMAND], {
    env: { ...env, LOG_LEVEL: "trace" },
    stdout: output,
    stderr: "inherit",
  });
  let url: string | undefined;
  while (url === undefined) {
    if (child.exitCode !== null) throw new Error("The server ended before it listened");
    await Bun.sleep(20);
    url = /listens on (\S+)/.exec(readFileSync(file, "utf8"))?.[1];
  }
  const stop = async () => {
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  };
  return { url, stop };
}

test("tokens survive a restart, and stand in no database, file or log", async () => {
  const place = await makePreparedFolder();
  const email = "admin@example.com";
  const logs = ["first.log", "second.log"].map((name) => join(place.data_dir, name));
  const secrets: string[] = [];
  try {
    const first = await startLogged(place.env, logs[0] ?? "");
    const agent = await OAuthClient.register(first);
    const { verifier, challenge } = pkce();
    const page = await open(agent.url(challenge));
    const typed = { email, password: PASSWORD, decision: "allow" };
    await send(first, page, { ...typed, password: "a wrong password" });
    const back = new URL((await send(first, page, typed)).headers.get("location") ?? "");
    const code = back.searchParams.get("code") ?? "";
    const given = (await agent.exchange(code, verifier)).body;
    const lost = await agent.code(email);
    secrets.push(code, verifier, lost.code, page.fields.transaction ?? "", page.fields.csrf ?? "");
    secrets.push(page.cookie.split("=")[1] ?? "", given.access_token, given.refresh_token);
    await agent.exchange(lost.code, "a wrong verifier, and as long as one has to be");
    await first.stop();

    const second = await startLogged(place.env, logs[1] ?? "");
    const again = new OAuthClient(second, agent.client_id);
    const renewed = await again.refresh(given.refresh_token);
    expect(renewed.status).toBe(200);
    secrets.push(renewed.body.access_token, renewed.body.refresh_token);
    const { body } = await apiOf(second.url, {})("POST", "/login", { email, password: PASSWORD });
    const api = apiOf(second.url, { authorization: `Bearer ${body.token}` });
    expect((await api("GET", "/me/authorizations")).body.data).toContainEqual(
      expect.objectContaining({ agent_name: "Test agent" }),
    );
    const entries = JSON.stringify((await api("GET", "/audit-log?limit=200")).body);
    await second.stop();

    const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal" }), { without_usage: true });
    for (const token of [given.access_token, renewed.body.access_token])
      expect(await deps.authenticateAccessToken(token)).toMatchObject({ kind: "user", email });
    const tables = Object.values(TABLES).map((table) => deps.store.read.use<PgTable>(table));
    const rows = await Promise.all(tables.map((table) => deps.store.read.select().from(table)));
    await deps.close();

    const files = readdirSync(place.data_dir).map((name) =>
      readFileSync(join(place.data_dir, name), "latin1"),
    );
    expect(files.join("").length).toBeGreaterThan(100_000);
    expect(readFileSync(logs[0] ?? "", "utf8")).toContain("exchange_code");
    expect(entries).toContain("grant_authorization");
    const kept = [JSON.stringify(rows), entries, ...files].join("\n");
    // Found where it must be, so that what follows is no search in vain.
    expect(kept).toContain(challenge);
    expect(secrets.every((secret) => secret.length >= 43)).toBe(true);
    for (const secret of [...secrets, PASSWORD, "a wrong password"]) expect(kept).not.toContain(secret);
  } finally {
    place.remove();
  }
});
