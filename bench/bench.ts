import type { Cleanup } from "./cleanup.ts";
import type { Company } from "./company.ts";
import type { Plan } from "./plan.ts";
import type { Service } from "./service.ts";
import type { Row } from "./table.ts";

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

/** One or more rows of the table, by one name on the command line. */
export interface Bench {
  name: string;
  summary: string;
  /** Whether the usage store must hold the plan's events first. */
  needs_events: boolean;
  run(context: BenchContext): Promise<Row[]>;
}
