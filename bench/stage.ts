import type { Cleanup } from "./cleanup.ts";
import type { House } from "./house.ts";
import type { Plan } from "./plan.ts";
import type { Row } from "./table.ts";

/** What a benchmark works with. */
export interface Stage {
  plan: Plan;
  house: House;
  cleanup: Cleanup;
  /** Tells whoever waits what is being measured. */
  progress: (doing: string) => void;
}

/** One or more rows of the table, by one name on the command line. */
export interface Bench {
  name: string;
  summary: string;
  /** Whether the usage store must hold the plan's events first. */
  needs_events: boolean;
  run(stage: Stage): Promise<Row[]>;
}
