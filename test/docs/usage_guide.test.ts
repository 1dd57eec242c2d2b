import { expect, test } from "bun:test";
import { expectShown, stepsOf } from "../support/guides.ts";
import { TestClock, useService } from "../support/harness.ts";

// docs/usage.md is true: its requests are sent to a fresh server, on the day on which they were, and what it shows must
// be in the answers.

const service = useService({ clock: new TestClock("2026-11-22T12:00:00Z") });

test("docs/usage.md says what a fresh server answers", async () => {
  const steps = stepsOf("docs/usage.md");
  expect(steps.length).toBeGreaterThan(15);
  for (const step of steps) {
    if ("wait_s" in step) throw new Error("Usage waits for nothing");
    const { method, path, body, type, shown, text } = step;
    const answer = await service.api(method, path, body, type === undefined ? {} : { "content-type": type });
    const is_refused = shown.some((object) => "error" in object);
    expect(answer.status < 300, `${text}\n${JSON.stringify(answer.body)}`).toBe(!is_refused);
    expect(shown.length, text).toBeGreaterThan(0);
    expectShown(step, jsonOf(answer.body));
  }
});

/** An answer's JSON; an export's lines are NDJSON. */
function jsonOf(body: unknown): unknown {
  if (typeof body !== "string") return body;
  return {
    data: body
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
}
