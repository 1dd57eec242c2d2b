import { expect, test } from "bun:test";
import { expectShown, stepsOf } from "../support/guides.ts";
import { TestClock, useService } from "../support/harness.ts";

// docs/limits.md is true: its requests are sent to a fresh server, and what it shows must be in the answers.

const service = useService({ clock: new TestClock("2026-11-22T12:00:00Z") });

test("docs/limits.md says what a fresh server answers", async () => {
  const steps = stepsOf("docs/limits.md");
  expect(steps.length).toBeGreaterThan(9);
  for (const step of steps) {
    if ("wait_s" in step) throw new Error("Limits wait for nothing");
    const { method, path, body, text } = step;
    const answer = await service.api(method, path, body);
    expect(answer.status < 300, `${text}\n${JSON.stringify(answer.body)}`).toBe(true);
    expectShown(step, answer.body);
  }
});
