import { expect, test } from "bun:test";
import { expectShown, stepsOf } from "../support/guides.ts";
import { TestClock, useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

// docs/limits.md is true: its requests are sent to a fresh server, and what it shows must be in the answers.

const service = useService({ clock: new TestClock("2026-11-22T12:00:00Z") });

test("docs/limits.md says what a fresh server answers", async () => {
  const steps = stepsOf("docs/limits.md");
  expect(steps.length).toBeGreaterThan(16);
  const kept = new Map<string, string>();
  for (const step of steps) {
    if ("wait_s" in step) {
      // What is waited for is that alerts are looked at, by totals that are counted.
      await runNamedJob(service, "alerts");
      await service.deps.usage.running_totals.counted();
      await runNamedJob(service, "alerts");
      continue;
    }
    const { method, path, text } = step;
    const body = step.body?.replaceAll(/'\$([A-Z]+)'/g, (_, name: string) => kept.get(name) ?? "");
    const answer = await service.api(method, path, body);
    expect(answer.status < 300, `${text}\n${JSON.stringify(answer.body)}`).toBe(true);
    if (step.kept)
      kept.set(
        step.kept.name,
        step.kept.path.reduce((part, key) => part?.[key], answer.body),
      );
    expectShown(step, answer.body);
  }
});
