import { Connection } from "./connection.ts";
import { type Measured, measured } from "./stats.ts";

/** A load on a server: each connection sends its next request when the one before is answered. */
export interface Load {
  origin: string;
  connections: number;
  requests: Iterable<Uint8Array>;
  /** The only status that counts as success; any other ends the measurement with an error. */
  status: number;
  /** When to stop, where the requests do not end. */
  seconds?: number;
}

/** Runs a load over connections opened beforehand. */
export async function runLoad({ origin, connections, requests, status, seconds }: Load): Promise<Measured> {
  const open = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  const queue = requests[Symbol.iterator]();
  const latencies_ms: number[] = [];
  const started = performance.now();
  const deadline = started + (seconds ?? Number.POSITIVE_INFINITY) * 1_000;

  async function work(connection: Connection): Promise<void> {
    for (let next = queue.next(); !next.done; next = queue.next()) {
      const before = performance.now();
      const answer = await connection.send(next.value);
      const after = performance.now();
      latencies_ms.push(after - before);
      if (answer.status !== status) throw unexpected(answer.status, answer.body);
      if (after >= deadline) return;
    }
  }

  try {
    await Promise.all(open.map(work));
    return measured(latencies_ms.length, performance.now() - started, latencies_ms);
  } finally {
    for (const connection of open) connection.close();
  }
}

/**
 * Sends requests at fixed times, whether or not those before are answered, and measures from the time at which
 * each should have gone out: a server that halts is charged for everyone who would have waited. Connections take
 * turns, as the server closes those that are idle for long.
 */
export async function runArrivals(load: Load & { per_s: number }): Promise<Measured> {
  const { origin, connections, requests, status, per_s } = load;
  const idle = await Promise.all(Array.from({ length: connections }, () => Connection.open(origin)));
  const open = [...idle];
  const waiting: ((connection: Connection) => void)[] = [];
  const latencies_ms: number[] = [];
  const started = performance.now();
  let failure: unknown;

  async function arrive(request: Uint8Array, planned: number): Promise<void> {
    // A timer may be early by a fraction of a millisecond.
    const due = Math.min(planned, performance.now());
    const connection = idle.shift() ?? (await new Promise<Connection>((resolve) => waiting.push(resolve)));
    const answer = await connection.send(request);
    latencies_ms.push(performance.now() - due);
    const next = waiting.shift();
    if (next) next(connection);
    else idle.push(connection);
    if (answer.status !== status) throw unexpected(answer.status, answer.body);
  }

  try {
    const sent: Promise<unknown>[] = [];
    for (const request of requests) {
      const due = started + (sent.length / per_s) * 1_000;
      const early = due - performance.now();
      if (early > 0) await Bun.sleep(early);
      sent.push(arrive(request, due).catch((error) => (failure ??= error)));
      if (failure !== undefined) break;
    }
    await Promise.all(sent);
    if (failure !== undefined) throw failure;
    return measured(latencies_ms.length, performance.now() - started, latencies_ms);
  } finally {
    for (const connection of open) connection.close();
  }
}

/** Sends a request at fixed times until stopped, and then gives how long each waited. */
export function keepArriving({
  request,
  ...load
}: Omit<Load, "requests" | "seconds"> & { request: Uint8Array; per_s: number }): {
  stop(): Promise<Measured>;
} {
  const arrivals = { on: true };
  const requests = (function* () {
    while (arrivals.on) yield request;
  })();
  const arriving = runArrivals({ ...load, requests });
  // Whoever stops it is told; until then it is nobody's error.
  arriving.catch(() => undefined);
  return {
    stop() {
      arrivals.on = false;
      return arriving;
    },
  };
}

/** The same request again and again. */
export function* repeat(request: Uint8Array): Generator<Uint8Array, never> {
  while (true) yield request;
}

function unexpected(status: number, body: Uint8Array): Error {
  return new Error(`Cannot go on: an answer was ${status} ${new TextDecoder().decode(body.slice(0, 500))}`);
}
