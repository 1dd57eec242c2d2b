import { expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  accept,
  type ClockState,
  compareWithRecords,
  compareWithServer,
  JUMP_MS,
  look,
  startClock,
  STEADY_MS,
} from "../../src/core/clock_rules.ts";
import { GuardedClock } from "../../src/core/guarded_clock.ts";
import { propertyCases } from "../support/properties.ts";

const START = Date.parse("2026-11-22T12:00:00Z");
const MIN = 60_000;
const HOUR = 60 * MIN;
const DAY = 24 * HOUR;

/** A machine whose clock somebody sets. */
class Machine {
  wall_ms = START;
  monotonic_ms = 1_000;
  pass(ms: number): void {
    this.wall_ms += ms;
    this.monotonic_ms += ms;
  }
  read = () => ({ wall_ms: this.wall_ms, monotonic_ms: this.monotonic_ms });
}

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.nat(20 * MIN) }) },
  fc.record({ kind: fc.constant("set" as const), ms: fc.integer({ min: -3 * DAY, max: 3 * DAY }) }),
  fc.record({ kind: fc.constant("set" as const), ms: fc.integer({ min: -6 * MIN, max: 6 * MIN }) }),
  fc.record({ kind: fc.constant("accept" as const), ms: fc.constant(0) }),
  fc.record({ kind: fc.constant("server" as const), ms: fc.integer({ min: -HOUR, max: HOUR }) }),
);

test("instants never go back, go on at half speed at least, and a jump holds until something ends it", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, has_server) => {
      const machine = new Machine();
      let state: ClockState = startClock(machine.read());
      for (const { kind, ms } of steps) {
        const before = state;
        const was_ms = machine.monotonic_ms;
        if (kind === "pass") machine.pass(ms);
        if (kind === "set") machine.wall_ms += ms;
        if (kind === "accept") state = accept(state);
        if (kind === "server" && has_server)
          state = compareWithServer(state, machine.read(), machine.wall_ms + ms);
        else state = look(state, machine.read());
        const elapsed = machine.monotonic_ms - was_ms;
        expect(state.given_ms).toBeGreaterThanOrEqual(before.given_ms + elapsed / 2);
        // Trusted: the wall clock is where it is expected, and time is not behind it.
        if (state.hold === null) {
          expect(Math.abs(machine.wall_ms - state.expected_ms)).toBeLessThanOrEqual(JUMP_MS);
          expect(state.given_ms).toBeGreaterThanOrEqual(machine.wall_ms);
        }
        // Held: time goes on as it did, whatever the wall clock shows.
        if (before.hold !== null && state.hold !== null)
          expect(state.given_ms).toBeLessThanOrEqual(Math.max(before.given_ms, before.expected_ms) + elapsed);
        if (kind === "set" && Math.abs(ms) > 2 * JUMP_MS && before.hold === null)
          expect(state.hold?.reason).toBe("jumped");
      }
    }),
    propertyCases(300),
  );
});

/** The clock of a service that looks every minute while time passes. */
function watched(machine: Machine) {
  const told: boolean[] = [];
  const clock = new GuardedClock(machine.read, (problem) => told.push(problem !== null));
  const pass = (ms: number) => {
    for (let left = ms; left > 0; left -= MIN) {
      machine.pass(Math.min(MIN, left));
      clock.now();
    }
  };
  return { clock, told, pass, at: () => clock.now().epochMilliseconds - START };
}

test("after a jump of three days time goes on as before; steady and accepted, it is that of the clock", () => {
  const machine = new Machine();
  const { clock, told, pass, at } = watched(machine);
  pass(HOUR);
  machine.wall_ms += 3 * DAY;
  expect(at()).toBe(HOUR);
  expect(clock.problem).toContain("moved by +4320.0 min");
  pass(HOUR);
  expect([at(), told]).toEqual([2 * HOUR, [true]]);
  expect(clock.accept(clock.wall)).toBe(true);
  expect([at(), clock.hold]).toEqual([2 * HOUR + 3 * DAY, null]);
  expect(told).toEqual([true, false]);
});

test("an acceptance waits until the clock has been steady for 15 minutes, and falls with another jump", () => {
  const machine = new Machine();
  const { clock, pass } = watched(machine);
  machine.wall_ms -= 2 * HOUR;
  clock.now();
  expect(clock.accept(clock.wall)).toBe(true);
  pass(STEADY_MS - MIN);
  expect(clock.problem).toContain("accepted; it must be steady for 1 min more");
  machine.wall_ms += HOUR;
  pass(STEADY_MS + MIN);
  expect(clock.problem).toContain("confirm it with `clock accept`");
  const said = clock.wall;
  machine.wall_ms -= 10 * MIN;
  expect(clock.accept(said)).toBe(false);
});

test("set back to where it had been, the clock is trusted again by itself", () => {
  const machine = new Machine();
  const { clock, told, pass, at } = watched(machine);
  machine.wall_ms += 3 * DAY;
  pass(MIN);
  machine.wall_ms -= 3 * DAY;
  expect([at(), clock.problem, told]).toEqual([MIN, null, [true, false]]);
});

test("after an accepted step back time goes on at half speed until the clock has caught up", () => {
  const machine = new Machine();
  const { clock, pass, at } = watched(machine);
  machine.wall_ms -= 2 * HOUR;
  clock.now();
  clock.accept(clock.wall);
  pass(STEADY_MS);
  const from = at();
  pass(HOUR);
  expect(at() - from).toBeCloseTo(HOUR / 2, -1);
  pass(4 * HOUR);
  expect(clock.now().epochMilliseconds).toBe(machine.wall_ms);
});

test("while a process's time is ahead of a clock that was set back, work waits: a bill would be early", () => {
  const machine = new Machine();
  machine.wall_ms += 3 * DAY;
  const { clock, told, pass } = watched(machine);
  const server = () => Temporal.Instant.fromEpochMilliseconds(START + machine.monotonic_ms - 1_000);
  clock.compareWithServer(server());
  machine.wall_ms -= 3 * DAY;
  clock.compareWithServer(server());
  expect([clock.hold, told]).toEqual([null, [true, true]]);
  expect(clock.problem).toMatch(/this process is \+4320\.0 min ahead .* restart it/);
  const met_at = clock.caught_up_at.epochMilliseconds;
  pass(6 * DAY);
  expect(clock.now().epochMilliseconds).toBe(met_at);
  expect([clock.problem, clock.now().epochMilliseconds]).toEqual([null, machine.wall_ms]);
});

test("small steps hold nothing, and slow drift is followed", () => {
  const machine = new Machine();
  const { told, pass, at } = watched(machine);
  machine.wall_ms += 4 * MIN;
  expect(at()).toBe(4 * MIN);
  machine.wall_ms -= 4 * MIN;
  pass(8 * MIN);
  expect(at()).toBe(8 * MIN);
  for (let hour = 0; hour < 30 * 24; hour++) {
    machine.wall_ms += 1_000;
    pass(HOUR);
  }
  expect(told).toEqual([]);
});

test("a start behind the newest record holds; one that is a little behind does not", () => {
  const machine = new Machine();
  const state = startClock(machine.read());
  expect(compareWithRecords(state, machine.read(), START + JUMP_MS).hold).toBeNull();
  expect(compareWithRecords(state, machine.read(), START + JUMP_MS + 1).hold?.reason).toBe("behind");
});

test("the database server's clock decides at once, both ways", () => {
  const machine = new Machine();
  const { clock, told, at } = watched(machine);
  const server = (ahead_ms: number) => Temporal.Instant.fromEpochMilliseconds(machine.wall_ms + ahead_ms);
  clock.compareWithServer(server(HOUR));
  expect(clock.problem).toContain("−60.0 min from the database server's");
  clock.accept(clock.wall);
  machine.pass(STEADY_MS + MIN);
  expect(clock.hold?.reason).toBe("disagrees");
  clock.compareWithServer(server(1_000));
  machine.wall_ms += DAY;
  expect(clock.hold?.reason).toBe("jumped");
  clock.compareWithServer(server(0));
  expect([at(), told]).toEqual([DAY + STEADY_MS + MIN, [true, false, true, false]]);
});
