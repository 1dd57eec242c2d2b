import { expect, test } from "bun:test";
import { expectShown, stepsOf } from "../support/guides.ts";
import { TestClock, useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

// docs/billing.md is true: its requests are sent to a fresh server, on the day on which they were, and what it shows
// must be in the answers.

const WRITTEN_ON = "2026-11-21T12:00:00Z";

const clock = new TestClock(WRITTEN_ON);

const service = useService({ clock });

test("docs/billing.md says what a fresh server answers", async () => {
  const commands = stepsOf("docs/billing.md");
  expect(commands.length).toBeGreaterThan(40);
  for (const [seconds, command] of commands.entries()) {
    if ("wait_s" in command) throw new Error("Bills wait for nothing");
    clock.set(Temporal.Instant.from(WRITTEN_ON).add({ seconds }).toString());
    const { status, body } = await service.api(command.method, command.path, command.body);
    expect([200, 201, 202], `${command.text}\n${JSON.stringify(body)}`).toContain(status);
    if (command.path === "/simulations") await runNamedJob(service, "simulations");
    if (command.path.endsWith("/invoice")) {
      expect(body).toContain("EUR 29.00");
      continue;
    }
    expect(command.shown.length, command.text).toBeGreaterThan(0);
    expectShown(command, body);
  }
});

test("what it shows is looked for: a number that is wrong, or a line that is left out, is found", () => {
  const answer = { data: { records: [{ total: "3.00", lines: [{ amount: "1.00" }, { amount: "2.00" }] }] } };
  const nothing = { body: undefined, type: undefined, form: undefined, kept: undefined };
  const command = { text: "api /x", caller: "api", method: "GET", path: "/x", ...nothing };
  const one = { amount: "1.00" };
  expectShown({ ...command, shown: [{ total: "3.00" }, one, { amount: "2.00" }] }, answer);
  expect(() => expectShown({ ...command, shown: [{ total: "3.01" }] }, answer)).toThrow("shows");
  expect(() => expectShown({ ...command, shown: [{ total: "3.00" }, one] }, answer)).toThrow();
  expect(() => expectShown({ ...command, shown: [{ amount: "2.00" }, one] }, answer)).toThrow("shows");
});
