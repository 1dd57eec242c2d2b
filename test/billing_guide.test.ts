import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type House, type Json, startHouse, TestClock } from "./harness.ts";

// docs/billing.md is true: its requests are sent to a fresh server, on the day on which they were, and what it shows
// must be in the answers.

const GUIDE = readFileSync(join(import.meta.dir, "../docs/billing.md"), "utf8");
const WRITTEN_ON = "2026-11-21T12:00:00Z";

/** A command of the guide, and the JSON that it shows, an object a line. */
interface Command {
  readonly text: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly shown: readonly Json[];
}

/** `$ api /path -d '{…}' | jq …`, over several lines when they are indented, then what was printed. */
function commandsOf(guide: string): Command[] {
  const blocks = [...guide.matchAll(/```sh\n(.*?)```/gs)].map(([, block = ""]) => block);
  return blocks
    .flatMap((block) => block.split(/^\$ /m).slice(1))
    .map((entry) => {
      const [, text = "", printed = ""] = /^(.*\n(?: {4}.*\n)*)([^]*)$/.exec(entry) ?? [];
      const path = /^api (\S+)/.exec(text)?.[1];
      if (path === undefined) throw new Error(`Cannot run ${text}: it is no call of api`);
      const body = / -d '([^']*)'/.exec(text)?.[1];
      const shown = printed
        .trim()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line));
      return { text: text.trim(), path, body, shown };
    });
}

/** An object somewhere in an answer; `in_list` is the name of the list that it stands in. */
interface Found {
  readonly object: Json;
  readonly in_list: string | null;
}

/** Records inside records, whose ids could be taken for the answer's own. */
const EMBEDDED = new Set(["client", "product", "billing_model", "subscription"]);

/** Every object of an answer, outer ones first. */
function* objectsOf(value: Json, in_list: string | null = null): Generator<Found, void, undefined> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { object: value, in_list };
  for (const [key, inner] of Object.entries(value)) {
    if (EMBEDDED.has(key)) continue;
    yield* Array.isArray(inner) ? inner.flatMap((item) => [...objectsOf(item, key)]) : objectsOf(inner, null);
  }
}

/** Finds what is shown in an answer, in its order; of a bill's lines all must be shown, or none. */
function expectShown({ text, shown }: Command, answer: Json): void {
  const objects = [...objectsOf(answer)];
  let next = 0;
  let lines = 0;
  for (const wanted of shown) {
    const place = objects.findIndex(({ object }, i) => i >= next && holds(object, wanted));
    if (place < 0) {
      throw new Error(`${text}\nshows ${JSON.stringify(wanted)}\nanswered ${JSON.stringify(answer)}`);
    }
    if (objects[place]?.in_list === "lines") lines += 1;
    next = place + 1;
  }
  const all = objects.filter(({ in_list }) => in_list === "lines").length;
  if (lines > 0) expect(lines, text).toBe(all);
}

function holds(object: Json, wanted: Json): boolean {
  return Object.entries(wanted).every(([key, value]) => Bun.deepEquals(object[key], value));
}

let house: House;
const clock = new TestClock(WRITTEN_ON);

beforeAll(async () => {
  house = await startHouse({ clock });
});
afterAll(() => house.stop());

test("docs/billing.md says what a fresh server answers", async () => {
  const commands = commandsOf(GUIDE);
  expect(commands.length).toBeGreaterThan(40);
  for (const [seconds, command] of commands.entries()) {
    clock.set(Temporal.Instant.from(WRITTEN_ON).add({ seconds }).toString());
    const method = command.body === undefined ? "GET" : "POST";
    const { status, body } = await house.api(method, command.path, command.body);
    expect([200, 201], `${command.text}\n${JSON.stringify(body)}`).toContain(status);
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
  const command = { text: "api /x", path: "/x", body: undefined };
  const one = { amount: "1.00" };
  expectShown({ ...command, shown: [{ total: "3.00" }, one, { amount: "2.00" }] }, answer);
  expect(() => expectShown({ ...command, shown: [{ total: "3.01" }] }, answer)).toThrow("shows");
  expect(() => expectShown({ ...command, shown: [{ total: "3.00" }, one] }, answer)).toThrow();
  expect(() => expectShown({ ...command, shown: [{ amount: "2.00" }, one] }, answer)).toThrow("shows");
});
