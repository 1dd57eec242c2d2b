import type { DiskReserve } from "../core/disk_reserve.ts";
import { AppError } from "../core/errors.ts";
import type { ClockHold } from "../core/guarded_clock.ts";

/** What jobs wait for, unless they say that they go on: room on the disk, and a clock that can be trusted. */
export type Wait = "disk" | "clock";

const RETRY_AFTER_S = 60;

/** What holds work back on a bad day. Decisions 0197, 0198. */
export class Guards {
  readonly disk: DiskReserve;
  readonly clock: ClockHold;

  constructor(disk: DiskReserve, clock: ClockHold) {
    this.disk = disk;
    this.clock = clock;
  }

  /** Why work that waits for all but `goes_on` waits now, or null. */
  problemFor(goes_on: readonly Wait[] = []): string | null {
    const disk = goes_on.includes("disk") ? null : this.disk.problem;
    const clock = goes_on.includes("clock") ? null : this.clock.problem;
    return disk ?? clock;
  }

  /** Everything that holds work back, in words. */
  get problems(): string[] {
    return [this.disk.problem, this.clock.problem].filter((problem) => problem !== null);
  }

  /** Errors: unavailable while the clock can't be trusted. */
  checkClock(): void {
    const { problem } = this.clock;
    if (problem === null) return;
    throw new AppError("unavailable", `Cannot do this now: it waits for the clock: ${problem}`, {
      retry_after_s: RETRY_AFTER_S,
    });
  }
}
