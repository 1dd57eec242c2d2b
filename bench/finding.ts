import type { Measured, Median } from "./stats.ts";
import { factor, latencyRatio, ms, printTable, round, spread } from "./table.ts";

/** A number that a run measured, once in each round. */
export interface Figure {
  /** `p50`, `p99`, `rate`; of a peer, the peer's name. */
  name: string;
  /** `ms`, `s`, `req/s`: with `/s` more is better, otherwise less. */
  unit: string;
  values: readonly number[];
}

/** One line of a table: every cell ready to print, and the numbers by which runs are compared. */
export interface Finding {
  /** The line's name, the same in every run. */
  what: string;
  measured: string;
  latency: string;
  peer: string;
  ratio: string;
  goal: string;
  holds: string;
  figures: readonly Figure[];
  peers: readonly Figure[];
}

/** What a line is to reach. */
export interface Goal {
  text: string;
  met: boolean;
  /** The size for which it is set; at another it is only an indication. */
  at?: number;
}

const HEADS = {
  what: "What",
  measured: "Measured",
  latency: "p50 / p99 ms",
  peer: "Peer",
  ratio: "Ratio",
  goal: "Goal",
  holds: "Holds?",
};

/** What was measured beside what it is measured by. */
export interface Cells {
  measured: string;
  latency?: string;
  peer?: string;
  ratio?: string;
  goal?: Goal | undefined;
  figures?: readonly Figure[];
  peers?: readonly Figure[];
}

/** A line for figures of a deployment of some size. */
export function finding(what: string, size: number, cells: Cells): Finding {
  const { measured, latency = "–", peer = "–", ratio = "–", goal, figures = [], peers = [] } = cells;
  const holds = holdsCell(goal, size);
  return { what, measured, latency, peer, ratio, goal: goal?.text ?? "", holds, figures, peers };
}

/** A line of rates: the ratio is the subject's rate by the peer's, higher is better. */
export function rateFinding(what: string, size: number, { unit, subject, peer, least }: RateCells): Finding {
  const ratio = subject.per_s / peer.median.per_s;
  const rate = `${unit}/s`;
  return finding(what, size, {
    measured: `${round(subject.per_s)} ${rate}`,
    latency: spread(subject),
    peer: `${round(peer.median.per_s)} ${rate}, ${peer.name}`,
    ratio: `${factor(ratio)} ×`,
    goal: atLeast(least, ratio),
    figures: [figureOf(subject, "per_s", rate)],
    peers: [{ ...figureOf(peer.median, "per_s", rate), name: peer.name }],
  });
}

interface RateCells {
  /** What is counted: `req`, `events`. */
  unit: string;
  subject: Median;
  peer: NamedPeer;
  /** The least ratio. */
  least: number;
}

interface NamedPeer {
  name: string;
  median: Median;
}

/** A line of latencies: the ratio is the subject's median by the peer's, lower is better. */
export function latencyFinding(
  what: string,
  size: number,
  { subject, peer, ...cells }: Omit<Cells, "measured" | "peer"> & { subject: Median; peer?: NamedPeer },
): Finding {
  const beside = peer && {
    peer: `${ms(peer.median.p50_ms)} ms, ${peer.name}`,
    ratio: latencyRatio(subject.p50_ms, peer.median.p50_ms),
    peers: [{ ...figureOf(peer.median, "p50_ms"), name: peer.name }],
  };
  return finding(what, size, {
    measured: `${ms(subject.p50_ms)} ms`,
    latency: spread(subject),
    figures: [figureOf(subject, "p50_ms")],
    ...beside,
    ...cells,
  });
}

/** A line without figures, and why there are none. */
export function notMeasured(what: string, reason: string): Finding {
  return finding(what, 0, { measured: `not measured: ${reason}` });
}

/** The findings as a markdown table. */
export function printFindings(findings: readonly Finding[]): string {
  const keys = ["what", "measured", "latency", "peer", "ratio", "goal", "holds"] as const;
  return printTable([HEADS, ...findings].map((line) => keys.map((key) => line[key])));
}

const NAMES = { per_s: "rate", p50_ms: "p50", p95_ms: "p95", p99_ms: "p99", max_ms: "longest" };

/** A figure of each round. */
export function figureOf({ rounds }: Median, key: keyof Measured, unit = "ms"): Figure {
  return { name: NAMES[key], unit, values: rounds.map((one) => one[key]) };
}

/** A goal for the ratio of two rates. */
export function atLeast(least: number, ratio: number): Goal {
  return { text: `≥ ${least} ×`, met: ratio >= least };
}

/** A goal for a figure that is to stay small, for deployments of size `at`. */
export function atMost(most: number, unit: string, value: number, at?: number): Goal {
  const goal = { text: `≤ ${most.toLocaleString("en-US")} ${unit}`, met: value <= most };
  return at === undefined ? goal : { ...goal, text: `${goal.text} at ${sizeText(at)}`, at };
}

const sizeText = (at: number) => (at >= 1e6 ? `${at / 1e6} M` : at.toLocaleString("en-US"));

function holdsCell(goal: Goal | undefined, size: number): string {
  if (goal === undefined) return "";
  const holds = goal.met ? "yes" : "no";
  return goal.at === undefined || goal.at === size ? holds : `(${holds})`;
}
