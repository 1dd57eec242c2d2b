import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { type ClockState, DatabaseClock } from "../../src/core/database_clock.ts";
import { propertyCases } from "../support/properties.ts";

const START = Date.parse("2026-11-22T12:00:00Z");

/** A machine and a database, each with a clock that somebody sets. */
class World {
  wall_ms = START;
  server_ms = START;
  monotonic_ms = 1_000;
  readonly told: ClockState[] = [];
  readonly clock = new DatabaseClock(
    () => ({ wall_ms: this.wall_ms, monotonic_ms: this.monotonic_ms }),
    (state) => this.told.push(state),
  );
  pass(ms: number): void {
    this.wall_ms += ms;
    this.server_ms += ms;
    this.monotonic_ms += ms;
  }
  /** Asks the database, whose answer is on its way for so long there and back. */
  ask(there_ms: number, back_ms: number): void {
    const asked_ms = this.monotonic_ms;
    this.pass(there_ms);
    const server_ms = Math.floor(this.server_ms);
    this.pass(back_ms);
    this.clock.learn({ server_ms, asked_ms, answered_ms: this.monotonic_ms });
  }
  /** How far the time is from the database's. */
  get error_ms(): number {
    return this.clock.now().epochMilliseconds - Math.floor(this.server_ms);
  }
}

test("a machine's clock counts for nothing, however wrong, once the database has answered", () => {
  const world = new World();
  world.wall_ms += 3_600_000;
  world.ask(1, 1);
  expect(Math.abs(world.error_ms)).toBeLessThanOrEqual(2);
  world.wall_ms -= 7_200_000;
  world.pass(60_000);
  expect(Math.abs(world.error_ms)).toBeLessThanOrEqual(2);
});

test("instants never go back, and are the database's but for the way of the fastest answer", () => {
  const step = fc.record({
    there_ms: fc.integer({ min: 0, max: 3_000 }),
    back_ms: fc.integer({ min: 0, max: 3_000 }),
    pass_ms: fc.integer({ min: 0, max: 10_000 }),
    wall_ms: fc.integer({ min: -100_000, max: 100_000 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
      const world = new World();
      let fastest_ms = Number.POSITIVE_INFINITY;
      let before_ms = 0;
      for (const { there_ms, back_ms, pass_ms, wall_ms } of steps) {
        world.wall_ms += wall_ms;
        world.ask(there_ms, back_ms);
        world.pass(pass_ms);
        fastest_ms = Math.min(fastest_ms, there_ms + back_ms);
        const now_ms = world.clock.now().epochMilliseconds;
        expect(now_ms).toBeGreaterThanOrEqual(before_ms);
        before_ms = now_ms;
        // What was given too early is only caught up with.
        if (world.error_ms < 0) expect(-world.error_ms).toBeLessThanOrEqual(fastest_ms + 2);
      }
      world.pass(20_000);
      expect(Math.abs(world.error_ms)).toBeLessThanOrEqual(fastest_ms + 2);
    }),
    propertyCases(300),
  );
});

test("two seconds off is told, thirty hold what goes by the time and send requests away", () => {
  const world = new World();
  const set = (off_ms: number) => {
    world.wall_ms = world.server_ms + off_ms;
    world.ask(0, 0);
    return [world.clock.state, world.clock.sends_away, world.clock.problem];
  };
  expect(set(1_900)).toEqual(["right", false, null]);
  expect(set(-2_100)).toEqual(["off", false, null]);
  expect(set(29_000)).toEqual(["off", false, null]);
  expect(set(45_000)).toEqual([
    "wrong",
    true,
    "the clock of this machine is 45.0 s ahead of the database's; set the one that is wrong",
  ]);
  expect(set(-31_000)[2]).toContain("31.0 s behind the database's");
  expect(set(0)).toEqual(["right", false, null]);
  expect(world.told).toEqual(["off", "wrong", "right"]);
});

test("a database's clock that is set back is followed at half speed", () => {
  const world = new World();
  world.ask(0, 0);
  const before = world.clock.now();
  world.server_ms -= 10_000;
  world.ask(0, 0);
  expect(world.clock.now().since(before).total("milliseconds")).toBeLessThanOrEqual(1);
  world.pass(10_000);
  expect(world.clock.now().since(before).total("milliseconds")).toBe(5_000);
  world.pass(10_000);
  expect(Math.abs(world.error_ms)).toBeLessThanOrEqual(1);
});
