import type { Cleanup } from "./cleanup.ts";
import type { Company } from "./company.ts";
import type { Finding } from "./finding.ts";
import type { Plan } from "./plan.ts";
import type { Service } from "./service.ts";

/** What a benchmark works with. */
export interface BenchContext {
  plan: Plan;
  service: Service;
  /** The company that requests are sent for. */
  company: Company;
  cleanup: Cleanup;
  /** Prints what is being measured. */
  progress: Progress;
}

export type Progress = (doing: string) => void;

/** What every run of the command works with. */
export interface RunContext {
  cleanup: Cleanup;
  progress: Progress;
  /** Stores findings at once, where results are stored. */
  save: (findings: readonly Finding[]) => void;
}

/** The outcome of a run, ready to print. */
export interface Report {
  /** What the figures below it are about. */
  preface: string;
  findings: readonly Finding[];
  /** Whether something could not be measured that should have been. */
  failed: boolean;
}

/** One or more lines of the table, by one name on the command line. */
export interface Bench {
  name: string;
  summary: string;
  /** Whether the usage store must hold the plan's events first. */
  needs_events: boolean;
  run(context: BenchContext): Promise<Finding[]>;
}
