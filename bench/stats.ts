/** What a load was met with. */
export interface Measured {
  /** Answers, or rows, a second. */
  per_s: number;
  p50_ms: number;
  p95_ms: number;
  p99_ms: number;
  max_ms: number;
}

/** The medians of several rounds, and the rounds. */
export interface Median extends Measured {
  rounds: readonly Measured[];
}

/** Sums up one round: `count` things done in `elapsed_ms`, with the time that each call took. */
export function measured(count: number, elapsed_ms: number, latencies_ms: readonly number[]): Measured {
  const sorted = latencies_ms.toSorted((a, b) => a - b);
  return {
    per_s: (count / elapsed_ms) * 1_000,
    p50_ms: quantile(sorted, 0.5),
    p95_ms: quantile(sorted, 0.95),
    p99_ms: quantile(sorted, 0.99),
    max_ms: sorted.at(-1) ?? Number.NaN,
  };
}

/** The medians of several rounds, figure by figure. */
export function medianOf(rounds: readonly Measured[]): Median {
  const middle = (figure: keyof Measured) => median(rounds.map((round) => round[figure]));
  return {
    per_s: middle("per_s"),
    p50_ms: middle("p50_ms"),
    p95_ms: middle("p95_ms"),
    p99_ms: middle("p99_ms"),
    max_ms: middle("max_ms"),
    rounds,
  };
}

/** The middle of the values, of two the lower one; NaN of none. */
export function median(values: readonly number[]): number {
  return quantile(
    values.toSorted((a, b) => a - b),
    0.5,
  );
}

/**
 * Calls `work` a number of times, one after the other, and measures each call. Slow work is called less often:
 * after `seconds` no further time.
 */
export async function timeEach(
  { times, seconds }: { times: number; seconds: number },
  work: () => Promise<unknown>,
): Promise<Measured> {
  const latencies_ms: number[] = [];
  const started = performance.now();
  const deadline = started + seconds * 1_000;
  while (latencies_ms.length < times && (latencies_ms.length === 0 || performance.now() < deadline)) {
    const before = performance.now();
    await work();
    latencies_ms.push(performance.now() - before);
  }
  return measured(latencies_ms.length, performance.now() - started, latencies_ms);
}

/** The value that a share of the sorted values does not exceed; NaN of none. */
function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
