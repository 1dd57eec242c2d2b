import { expect, test } from "bun:test";
import { join } from "node:path";
import { makePreparedFolder, runHere, serveHere } from "../support/process.ts";
import type { Api, Json } from "../support/harness.ts";

test("what is done at the command line is in the log of the company that it is done to", async () => {
  const place = await makePreparedFolder();
  const password = "never written down";
  const who = ["--email", "ops@example.com", "--role", "manager", "--password", password];
  const company = ["company", "add", "--name", "Second", "--admin-email", "b@example.com"];
  const file = join(place.data_dir, "events.csv");
  await Bun.write(file, "external_subscription_id,usage,timestamp\nnobody,1,2026-01-01T00:00:00Z\n");
  for (const words of [
    ["user", "add", "--company", "1", ...who],
    [...company, "--admin-password", password],
    ["job", "billing_run"],
  ]) {
    expect(await runHere(words, place.env)).toMatchObject({ code: 0 });
  }
  // Nothing of the file can be stored, but it was tried.
  expect((await runHere(["import", "usage", file, "--company", "1"], place.env)).code).toBe(1);

  const log = async (api: Api) =>
    (await api("GET", "/audit-log")).body.data
      .filter(({ operation }: Json) => operation !== "login")
      .toReversed();
  const [told, second] = await serveHere(place.env, async (api, { signIn }) => [
    await log(api),
    await log(await signIn("b@example.com", password)),
  ]);
  const facts = ({ operation, origin, actor, target }: Json) => [operation, origin, actor.kind, target];
  expect(told.map(facts)).toEqual([
    ["found_company", "cli", "operator", { type: "company", id: 1 }],
    ["create_user", "cli", "system", { type: "user", id: 2 }],
    ["start_usage_import", "cli", "system", { type: "usage_import", id: null }],
  ]);
  expect(told[2].input).toEqual({ file: "events.csv", format: "csv" });
  expect(second.map(facts)).toEqual([["add_company", "cli", "operator", { type: "company", id: 2 }]]);
  expect(JSON.stringify([told, second])).not.toContain(password);
  place.remove();
});
