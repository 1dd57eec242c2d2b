/** Something that happens at an instant of the demo's past. */
interface Step {
  at: Temporal.Instant;
  run: () => Promise<unknown>;
}

/** What happens, in the order of time; at one instant in the order in which it was noted. */
export class Agenda {
  readonly #until_ms: number;
  readonly #steps: Step[] = [];

  /** What is noted for `until` or later does not happen. */
  constructor(until: Temporal.Instant) {
    this.#until_ms = until.epochMilliseconds;
  }

  note(at: Temporal.ZonedDateTime, run: Step["run"]): void {
    const at_ms = at.epochMilliseconds;
    if (at_ms >= this.#until_ms) return;
    const before = this.#steps.findLastIndex((step) => step.at.epochMilliseconds <= at_ms);
    this.#steps.splice(before + 1, 0, { at: at.toInstant(), run });
  }

  /** Takes the next step from the agenda; steps may note others. */
  next(): Step | undefined {
    return this.#steps.shift();
  }
}
