import type { Cleanup } from "../cleanup.ts";
import type { Company } from "../company.ts";
import type { Plan } from "../plan.ts";
import type { SearchRange } from "../queries.ts";
import { StoreCopy, UnexpectedStatus } from "../search.ts";
import type { Progress, BenchContext } from "../bench.ts";
import type { Deployment } from "./deployment.ts";
import { type Finding, notMeasured } from "../finding.ts";

/** Some lines of the goals table, by one name on the command line. */
export interface Part {
  name: string;
  summary: string;
  run(context: PartContext): Promise<Finding[]>;
}

/** Statuses of a request that the service does not know. */
const UNKNOWN = [404, 422];

/** What a part works with. */
export class PartContext {
  readonly plan: Plan;
  readonly deployment: Deployment;
  readonly cleanup: Cleanup;
  readonly progress: Progress;
  /** Whether something could not be measured that should have been. */
  failed = false;
  #copy: StoreCopy | undefined;

  constructor(plan: Plan, deployment: Deployment, cleanup: Cleanup, progress: Progress) {
    this.plan = plan;
    this.deployment = deployment;
    this.cleanup = cleanup;
    this.progress = progress;
  }

  /** The events that the deployment was made with. */
  get events(): number {
    return this.plan.events;
  }

  /** What the benchmarks of one company work with. */
  benchContext(company: Company): BenchContext {
    const { plan, cleanup, progress, deployment } = this;
    return { plan, cleanup, progress, company, service: deployment.service };
  }

  /** A company's searches end with the deployment's events. */
  rangeOf({ id, subscriptions }: Company): SearchRange {
    return { company_id: id, now_ms: this.deployment.manifest.until_ms, subscriptions };
  }

  /** Measures a line, or returns why that failed, so that later lines are measured all the same. */
  async attempt(what: string, work: () => Promise<Finding>): Promise<Finding> {
    this.progress(what);
    try {
      return await work();
    } catch (error) {
      if (error instanceof UnexpectedStatus && UNKNOWN.includes(error.status))
        return notMeasured(what, `the service does not answer it yet (${error.status})`);
      this.failed = true;
      return notMeasured(what, error instanceof Error ? error.message : String(error));
    }
  }

  /** The copy of the usage store, made on the first call. */
  async copy(): Promise<StoreCopy> {
    if (this.#copy === undefined) {
      this.progress("copying the usage store");
      this.#copy = await StoreCopy.open(await this.deployment.service.copyUsage());
    }
    return this.#copy;
  }

  /** Closes the copy; a later call makes a new one. */
  closeCopy(): void {
    this.#copy?.close();
    this.#copy = undefined;
  }
}
