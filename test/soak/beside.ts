import { Type } from "@sinclair/typebox";
import type { Company } from "../../bench/company.ts";

// What goes on beside the load: searches, changes that webhooks tell of, billing runs.

const SEARCHES_MS = 500;
const CHANGES_MS = 1_000;
const LOOK_MS = 200;

const QUESTIONS: readonly object[] = [
  { relative: "last_1h", limit: 50 },
  { relative: "last_24h", aggregate: true, group_by: "subscription" },
  { relative: "last_30d", aggregate: true, group_by: "day" },
  { relative: "last_1h", metadata: { path: "/v1/checkout" }, limit: 20 },
];

const Run = Type.Object({
  data: Type.Object({ id: Type.Integer(), status: Type.String(), error: Type.Optional(Type.Any()) }),
});
const Counted = Type.Object({ data: Type.Object({ counts: Type.Record(Type.String(), Type.Integer()) }) });
const Created = Type.Object({ data: Type.Object({ id: Type.Integer() }) });

/** What was done beside the load. */
export interface BesideResult {
  searches: number;
  refused_searches: number;
  /** Changes of clients, each of which a webhook must tell of. */
  changes: number;
  billing_runs: number;
  records: number;
  failed_bills: number;
}

/** Does all of it until it is stopped. */
export class Beside {
  readonly result: BesideResult = {
    searches: 0,
    refused_searches: 0,
    changes: 0,
    billing_runs: 0,
    records: 0,
    failed_bills: 0,
  };
  readonly #company: Company;
  readonly #work: Promise<void>;
  readonly #stopped = Promise.withResolvers<void>();
  readonly #state = { is_on: true };

  constructor(company: Company, billing_every_s: number, month: string) {
    this.#company = company;
    const every = (ms: number, step: (i: number) => Promise<void>) => this.#repeat(ms, step);
    this.#work = Promise.all([
      every(SEARCHES_MS, (i) => this.#search(i)),
      every(CHANGES_MS, (i) => this.#change(i)),
      every(billing_every_s * 1_000, () => this.bill(month)),
    ]).then(() => undefined);
    // Whoever stops it is told.
    this.#work.catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#state.is_on = false;
    this.#stopped.resolve();
    await this.#work;
  }

  /** A billing run of a month, to its end. */
  async bill(period: string): Promise<void> {
    const { data } = await this.#company.fetchJson(Run, "POST", "/billing-runs", { period });
    let { status } = data;
    while (status === "running") {
      await Bun.sleep(LOOK_MS);
      status = (await this.#company.fetchJson(Run, "GET", `/billing-runs/${data.id}`)).data.status;
    }
    if (status !== "finished") throw new Error(`Billing run ${data.id} ended ${status}`);
    const { counts } = (await this.#company.fetchJson(Counted, "GET", `/billing-runs/${data.id}`)).data;
    this.result.billing_runs += 1;
    this.result.records += (counts["periods"] ?? 0) + (counts["adjustments"] ?? 0);
    this.result.failed_bills += counts["failed"] ?? 0;
  }

  async #repeat(ms: number, step: (i: number) => Promise<void>): Promise<void> {
    for (let i = 0; this.#state.is_on; i++) {
      const next = performance.now() + ms;
      await step(i);
      await Promise.race([this.#stopped.promise, Bun.sleep(Math.max(0, next - performance.now()))]);
    }
  }

  async #search(i: number): Promise<void> {
    const response = await this.#company.fetch("POST", "/usage/search", QUESTIONS[i % QUESTIONS.length]);
    await response.arrayBuffer();
    if (response.status === 200) this.result.searches += 1;
    else this.result.refused_searches += 1;
  }

  async #change(i: number): Promise<void> {
    await this.#company.fetchJson(Created, "POST", "/products", { name: `Product of second ${i}` });
    this.result.changes += 1;
  }
}
