import { expect, test } from "bun:test";
import { expectShown, stepsOf } from "../support/guides.ts";
import { TestClock, useService } from "../support/harness.ts";
import { pass } from "../support/time.ts";

// docs/emandate.md is true: its requests are sent to a fresh server, in the sandbox, on the day on which they were, and
// what it shows must be in the answers. Where it says to wait, time goes by with what runs every second.

const clock = new TestClock("2026-11-21T12:00:00Z");

const service = useService({ clock });

test("docs/emandate.md says what a fresh server answers", async () => {
  const steps = stepsOf("docs/emandate.md");
  expect(steps.length).toBeGreaterThan(45);
  for (const step of steps) {
    if ("wait_s" in step) {
      await pass(service, clock, Array<number>(step.wait_s).fill(1));
      continue;
    }
    const { status, body } = await service.api(step.method, step.path, step.body);
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
