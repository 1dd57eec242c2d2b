import type { ClockHold, ReadClocks } from "./guarded_clock.ts";
import { machineClocks } from "./guarded_clock.ts";
import type { Clock } from "./time.ts";

/** From what difference on the machine's clock is worth a warning, and from what on the instance serves nobody. */
export const OFF_MS = { warned: 2_000, refused: 30_000 };

/** How fast instants go on while the time turns out to be behind them. */
const CATCHING_UP = 0.5;

/** What the database's clock showed, and the monotonic times at which it was asked and had answered, in ms. */
interface Answer {
  server_ms: number;
  asked_ms: number;
  answered_ms: number;
}

/** How far the machine's clock is off: not worth a word, worth a warning, or so far that nobody is served. */
export type ClockState = "right" | "off" | "wrong";

/**
 * The database's time as a process knows it between questions, by its monotonic clock: several instances on one database
 * have one time. Its error is at most the way of the fastest answer. Decision 0321.
 */
export class DatabaseClock implements Clock, ClockHold {
  readonly #read: ReadClocks;
  readonly #onChange: (state: ClockState, off_ms: number) => void;
  /** How far the database's clock is ahead of the monotonic one; null before the first answer. */
  #ahead_ms: number | null = null;
  #state: ClockState = "right";
  #given_ms = 0;
  #given_at_ms: number;

  constructor(
    read: ReadClocks = machineClocks,
    onChange: (state: ClockState, off_ms: number) => void = () => undefined,
  ) {
    this.#read = read;
    this.#onChange = onChange;
    this.#given_at_ms = read().monotonic_ms;
  }

  /** Never goes back; where the time turns out to be behind what was given, it goes on at half speed meanwhile. */
  now(): Temporal.Instant {
    const { monotonic_ms, wall_ms } = this.#read();
    const elapsed_ms = Math.max(0, monotonic_ms - this.#given_at_ms);
    const time_ms = this.#ahead_ms === null ? wall_ms : monotonic_ms + this.#ahead_ms;
    this.#given_ms = Math.max(time_ms, this.#given_ms + elapsed_ms * CATCHING_UP);
    this.#given_at_ms = Math.max(monotonic_ms, this.#given_at_ms);
    return Temporal.Instant.fromEpochMilliseconds(Math.floor(this.#given_ms));
  }

  /** Takes an answer: what it proves of the time, and no more, so that a slow one moves nothing. */
  learn({ server_ms, asked_ms, answered_ms }: Answer): void {
    // The server looked at its clock somewhere between, and told whole milliseconds.
    const least_ms = server_ms - answered_ms;
    const most_ms = server_ms + 1 - asked_ms;
    const ahead_ms = this.#ahead_ms ?? (least_ms + most_ms) / 2;
    this.#ahead_ms = Math.min(Math.max(ahead_ms, least_ms), most_ms);
    const state = this.state;
    if (state === this.#state) return;
    this.#state = state;
    this.#onChange(state, this.offset_ms);
  }

  /** How far the machine's clock is ahead of the database's. */
  get offset_ms(): number {
    const { monotonic_ms, wall_ms } = this.#read();
    return this.#ahead_ms === null ? 0 : wall_ms - (monotonic_ms + this.#ahead_ms);
  }

  get state(): ClockState {
    const off_ms = Math.abs(this.offset_ms);
    if (off_ms > OFF_MS.refused) return "wrong";
    return off_ms > OFF_MS.warned ? "off" : "right";
  }

  /** Which of the two clocks is wrong is not known here: nothing that goes by the time may go on. */
  get problem(): string | null {
    const off_s = (this.offset_ms / 1_000).toFixed(1);
    const is_behind = off_s.startsWith("-");
    return this.state === "wrong"
      ? `the clock of this machine is ${off_s.replace("-", "")} s ${is_behind ? "behind" : "ahead of"} the database's; set the one that is wrong`
      : null;
  }

  get sends_away(): boolean {
    return this.state === "wrong";
  }
}
