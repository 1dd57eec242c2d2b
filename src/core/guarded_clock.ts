import {
  accept,
  type ClockState,
  compareWithRecords,
  compareWithServer,
  type Hold,
  JUMP_MS,
  look,
  type Look,
  startClock,
  STEADY_MS,
} from "./clock_rules.ts";
import { type Clock, iso } from "./time.ts";

/** Reads both clocks of the machine. */
export type ReadClocks = () => Look;

export const machineClocks: ReadClocks = () => ({
  wall_ms: Temporal.Now.instant().epochMilliseconds,
  monotonic_ms: performance.now(),
});

/** Whether jobs that write money wait for the clock, and why. */
export interface ClockHold {
  readonly problem: string | null;
  /** Whether requests had better go elsewhere meanwhile, where there are other instances. */
  readonly sends_away: boolean;
}

/** A clock that is set by hand, as in tests, is trusted. */
export const TRUSTED: ClockHold = { problem: null, sends_away: false };

/**
 * The machine's clock, watched: it sees at each question whether somebody has set it (clock_rules.ts). In whole
 * milliseconds: what is stored is what was compared. Decision 0198.
 */
export class GuardedClock implements Clock, ClockHold {
  readonly sends_away = false;
  readonly #read: ReadClocks;
  readonly #onChange: (problem: string | null) => void;
  #state: ClockState;
  /** How far the server's clock is ahead of the monotonic one, where there is one. */
  #server_ahead_ms: number | null = null;

  /** `onChange` is told when a hold begins and ends, and what still has to wait then. */
  constructor(
    read: ReadClocks = machineClocks,
    onChange: (problem: string | null) => void = () => undefined,
  ) {
    this.#read = read;
    this.#onChange = onChange;
    this.#state = startClock(read());
  }

  now(): Temporal.Instant {
    this.#take(look(this.#state, this.#read()));
    return Temporal.Instant.fromEpochMilliseconds(Math.floor(this.#state.given_ms));
  }

  /** What the wall clock shows, trusted or not. */
  get wall(): Temporal.Instant {
    return Temporal.Instant.fromEpochMilliseconds(this.#read().wall_ms);
  }

  get hold(): Hold | null {
    this.now();
    return this.#state.hold;
  }

  /** How far the wall clock is from the database server's, or from where this process expects it. */
  get offset_ms(): number {
    const { wall_ms, monotonic_ms } = this.#read();
    const ahead_ms = this.#server_ahead_ms ?? this.#state.expected_ms - this.#state.monotonic_ms;
    return wall_ms - (monotonic_ms + ahead_ms);
  }

  /** The latest instant that this process gives out before the wall clock has caught up with it. */
  get caught_up_at(): Temporal.Instant {
    const ahead_ms = Math.max(0, this.#ahead_ms);
    return this.now().add({ milliseconds: Math.ceil(ahead_ms) });
  }

  get problem(): string | null {
    const { hold } = this;
    const ahead_ms = this.#ahead_ms;
    if (hold === null && ahead_ms > JUMP_MS)
      return `the time of this process is ${minutes(ahead_ms)} ahead of the clock, which was set back; restart it, or wait until the clock has caught up`;
    if (hold === null) return null;
    const { wall_ms, monotonic_ms } = this.#read();
    const time = `the clock of this machine (${iso(Temporal.Instant.fromEpochMilliseconds(wall_ms))})`;
    if (hold.reason === "disagrees")
      return `${time} is ${minutes(this.offset_ms)} from the database server's; set the wrong one`;
    const steady_ms = monotonic_ms - hold.steady_since_ms;
    const left = Math.max(0, Math.ceil((STEADY_MS - steady_ms) / 60_000));
    const what =
      hold.reason === "behind" ? "is behind the newest record" : `moved by ${minutes(this.offset_ms)}`;
    const next = hold.is_accepted ? "accepted" : "confirm it with `clock accept`, or set it right";
    return `${time} ${what}; ${next}${left > 0 ? `; it must be steady for ${left} min more` : ""}`;
  }

  compareWithRecords(newest: Temporal.Instant): void {
    this.#take(compareWithRecords(this.#state, this.#read(), newest.epochMilliseconds));
  }

  compareWithServer(server: Temporal.Instant): void {
    const seen = this.#read();
    this.#server_ahead_ms = server.epochMilliseconds - seen.monotonic_ms;
    this.#take(compareWithServer(this.#state, seen, server.epochMilliseconds));
  }

  /** An operator's word that the wall clock is right, given when it showed `wall`. False: it has moved since. */
  accept(wall: Temporal.Instant): boolean {
    if (Math.abs(this.#read().wall_ms - wall.epochMilliseconds) > JUMP_MS) return false;
    this.now();
    this.#state = accept(this.#state);
    return true;
  }

  /** How far the instants that it gives out are ahead of the wall clock. */
  get #ahead_ms(): number {
    return this.now().epochMilliseconds - this.#read().wall_ms;
  }

  #take(next: ClockState): void {
    const was_held = this.#state.hold !== null;
    this.#state = next;
    if ((next.hold !== null) !== was_held) this.#onChange(this.problem);
  }
}

function minutes(ms: number): string {
  return `${ms < 0 ? "−" : "+"}${(Math.abs(ms) / 60_000).toFixed(1)} min`;
}
