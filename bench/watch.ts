import type { Company } from "./company.ts";
import { buildRequest } from "./connection.ts";
import { atMost, type Finding, finding, figureOf, type Goal } from "./finding.ts";
import { keepArriving } from "./load.ts";
import { watchMemory } from "./memory.ts";
import { waitCells } from "./pressure.ts";
import type { Service } from "./service.ts";
import { type Measured, medianOf } from "./stats.ts";
import { ms, spread } from "./table.ts";

/** Reads that arrive while the work goes on. */
const READS = { connections: 8, per_s: 20 };
/** Requests that ask nothing of the server: the longest wait of one is the longest step of the event loop. */
const PROBES = { connections: 8, per_s: 100 };

/** What a long piece of work took, and what others noticed of it. */
export interface Watched<T> {
  result: T;
  seconds: number;
  /** The processor time that the server took, on all cores, the reads included. */
  cpu_s: number;
  /** The largest growth of its memory, in bytes. */
  grown: number;
  reads: Measured;
  probes: Measured;
}

/** Watches the server while it works: its memory, and how long it lets a GET of `path` and of /health wait. */
export async function watch<T>(
  service: Service,
  company: Company,
  path: string,
  work: () => Promise<T>,
): Promise<Watched<T>> {
  const { origin } = service;
  const cpu_s = async () => (await service.metric("process_cpu_seconds_total")) ?? Number.NaN;
  const memory = watchMemory(service);
  const before_s = await cpu_s();
  const reads = keepArriving({ ...READS, origin, request: company.request("GET", path), status: 200 });
  const probes = keepArriving({ ...PROBES, origin, request: buildRequest("GET", "/health"), status: 200 });
  try {
    const started = performance.now();
    const result = await work();
    const seconds = (performance.now() - started) / 1_000;
    return {
      result,
      seconds,
      cpu_s: (await cpu_s()) - before_s,
      grown: await memory.stop(),
      reads: await reads.stop(),
      probes: await probes.stop(),
    };
  } finally {
    await Promise.allSettled([memory.stop(), reads.stop(), probes.stop()]);
  }
}

/** The lines about what others noticed; `limits` are set for deployments of size `at`. */
export function watchedFindings(
  { grown, reads, probes }: Watched<unknown>,
  size: number,
  limits: { what: string; p99_ms: number; step_ms?: number; at: number },
): Finding[] {
  const memory_mib = Math.round(grown / 2 ** 20);
  const read = medianOf([reads]);
  const { step_ms, at } = limits;
  const step_goal: Goal | undefined =
    step_ms === undefined ? undefined : atMost(step_ms, "ms", probes.max_ms, at);
  return [
    finding("growth of the server's memory meanwhile, at most", size, {
      measured: `${memory_mib} MiB`,
      figures: [{ name: "growth", unit: "MiB", values: [memory_mib] }],
    }),
    finding(`${limits.what} meanwhile, ${READS.per_s} a second, from arrival`, size, {
      measured: `p99 ${ms(reads.p99_ms)}, longest ${ms(reads.max_ms)} ms`,
      latency: spread(reads),
      goal: atMost(limits.p99_ms, "ms", reads.p99_ms, at),
      figures: [figureOf(read, "p99_ms"), figureOf(read, "p50_ms"), figureOf(read, "max_ms")],
    }),
    finding(`longest step of the event loop, by GET /health ${PROBES.per_s} times a second`, size, {
      ...waitCells(medianOf([probes])),
      goal: step_goal,
    }),
  ];
}
