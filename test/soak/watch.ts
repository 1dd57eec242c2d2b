import type { Service } from "../../bench/service.ts";
import { median } from "../../bench/stats.ts";

/** From here on memory must have stopped growing: at 5,000 events a second the engine has filled its cache by then. */
const SETTLED_S = 45 * 60;
/** A stretch of samples, of which the median counts: billing runs each ten minutes and the sorting of events make waves. */
const STRETCH_S = 15 * 60;
/** What is shorter says nothing of memory. */
const LEAST_S = SETTLED_S + 2 * STRETCH_S;

const MEMORY = "process_resident_memory_bytes";
const INDEX = "meterhouse_usage_index_bytes";
const DESCRIPTORS = "process_open_fds";

interface Sample {
  at_s: number;
  memory: number;
  index: number;
  descriptors: number;
}

/** What the server took while it ran: its memory and its open files. */
export class Watch {
  readonly samples: Sample[] = [];
  readonly #service: Service;
  readonly #started = performance.now();

  constructor(service: Service) {
    this.#service = service;
  }

  async look(): Promise<Sample> {
    const [memory = Number.NaN, index = Number.NaN, descriptors = Number.NaN] = await this.#service.metrics([
      MEMORY,
      INDEX,
      DESCRIPTORS,
    ]);
    const sample = { at_s: (performance.now() - this.#started) / 1_000, memory, index, descriptors };
    this.samples.push(sample);
    return sample;
  }

  /**
   * How much memory beside the index grew from the quarter of an hour after minute 45 to the last one, as a share; null
   * where the run is too short.
   */
  get growth(): number | null {
    const end_s = this.samples.at(-1)?.at_s ?? 0;
    if (end_s < LEAST_S) return null;
    const before = this.#memoryBetween(SETTLED_S, SETTLED_S + STRETCH_S);
    return this.#memoryBetween(end_s - STRETCH_S, end_s) / before - 1;
  }

  /** Open files: the medians of the second and of the last quarter. Sockets of the load come and go. */
  get descriptors(): { before: number; after: number } {
    const { samples } = this;
    const quarter = (n: number) =>
      samples.slice(Math.floor((samples.length * n) / 4), Math.ceil((samples.length * (n + 1)) / 4));
    const of = (n: number) => median(quarter(n).map(({ descriptors }) => descriptors));
    return { before: of(1), after: of(3) };
  }

  #memoryBetween(from_s: number, to_s: number): number {
    const inside = this.samples.filter(({ at_s }) => at_s >= from_s && at_s <= to_s);
    return median(inside.map(({ memory, index }) => memory - index));
  }
}
