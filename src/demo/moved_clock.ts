import { earlier, later, type Clock } from "../core/time.ts";

/** The clock under which the demo's past is lived through: it goes where it is moved, never back, up to its end. */
export class MovedClock implements Clock {
  #now: Temporal.Instant;
  readonly #end: Temporal.Instant;

  constructor(now: Temporal.Instant, end: Temporal.Instant) {
    this.#now = now;
    this.#end = end;
  }

  now(): Temporal.Instant {
    return this.#now;
  }

  moveTo(at: Temporal.Instant): void {
    this.#now = later(this.#now, earlier(at, this.#end));
  }
}
