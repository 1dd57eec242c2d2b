import { expect, test } from "bun:test";
import { exchange } from "../access/api_keys/fixtures.ts";
import { type Command, expectShown, stepsOf } from "../support/guides.ts";
import { type Answer, TestClock, useService } from "../support/harness.ts";

// docs/loans.md is true: its requests are sent to a fresh server, on the day on which they were, each with the token of
// the key that was made for its caller last, and what it shows must be in the answers.

const NOW = "2026-11-21T12:00:00Z";

const service = useService({ clock: new TestClock(NOW) });

/** Tokens by who calls: the admin's, and those of the keys that the page makes. */
const tokens = new Map<string, string>();

async function run({ caller, method, path, body: told, form }: Command): Promise<Answer> {
  const body = told?.replace("'$NOW'", NOW);
  if (caller === "api") return service.api(method, path, body);
  const token = tokens.get(caller === "upload" ? "agent" : caller) ?? "";
  const type = form ? {} : { "content-type": "application/json" };
  const response = await fetch(`${service.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...type },
    ...((form ?? body) === undefined ? {} : { body: form ?? body ?? "" }),
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

test("docs/loans.md says what a fresh server answers", async () => {
  const steps = stepsOf("docs/loans.md");
  expect(steps.length).toBeGreaterThan(35);
  for (const step of steps) {
    if ("wait_s" in step) throw new Error("Loans wait for nothing");
    const { status, body } = await run(step);
    if (step.path === "/api-keys") {
      const { role } = body.data;
      tokens.set(role, (await exchange(service, body.data)).body.token);
    }
    const is_refused = step.shown.some((shown) => "error" in shown);
    expect([step.text, status < 300, JSON.stringify(body)]).toEqual([
      step.text,
      !is_refused,
      JSON.stringify(body),
    ]);
    expect(step.shown.length, step.text).toBeGreaterThan(0);
    expectShown(step, body);
  }
});
