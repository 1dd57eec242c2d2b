import { type Goal, ms, printTable } from "../table.ts";

/** One line of the goals table, every cell ready to print. */
export interface Finding {
  what: string;
  measured: string;
  peer: string;
  ratio: string;
  goal: string;
  holds: string;
  /** The figure itself where runs of other sizes are compared with it, in ms. */
  value_ms: number | null;
}

/** A goal and the number of events for which it is set; at another number it is only an indication. */
export type SizedGoal = Goal & { at?: number };

const HEADS = {
  what: "What",
  measured: "Measured",
  peer: "Peer",
  ratio: "Ratio",
  goal: "Goal",
  holds: "Holds?",
};

/** What was measured beside what it is measured by. */
export interface Figures {
  measured: string;
  peer?: string;
  ratio?: string;
  goal?: SizedGoal;
  value_ms?: number;
}

/** A line for figures of a store with so many events. */
export function finding(what: string, events: number, figures: Figures): Finding {
  const { measured, peer = "–", ratio = "–", goal, value_ms = null } = figures;
  return { what, measured, peer, ratio, goal: goal?.text ?? "", holds: holdsCell(goal, events), value_ms };
}

/** A line for a latency. */
export function latencyFinding(
  what: string,
  events: number,
  { p50_ms, ...figures }: Omit<Figures, "measured"> & { p50_ms: number },
): Finding {
  return finding(what, events, { measured: `${ms(p50_ms)} ms`, value_ms: p50_ms, ...figures });
}

/** A line without figures, and why there are none. */
export function notMeasured(what: string, reason: string): Finding {
  return {
    what,
    measured: `not measured: ${reason}`,
    peer: "–",
    ratio: "–",
    goal: "",
    holds: "–",
    value_ms: null,
  };
}

/** The findings as a markdown table. */
export function printFindings(findings: readonly Finding[]): string {
  const keys = ["what", "measured", "peer", "ratio", "goal", "holds"] as const;
  return printTable([HEADS, ...findings].map((line) => keys.map((key) => line[key])));
}

function holdsCell(goal: SizedGoal | undefined, events: number): string {
  if (goal === undefined) return "";
  const holds = goal.met ? "yes" : "no";
  return goal.at === undefined || goal.at === events ? holds : `(${holds})`;
}
