import { Type } from "@sinclair/typebox";
import type { Cleanup } from "../../bench/cleanup.ts";
import { Company } from "../../bench/company.ts";
import { FIRST_EMAIL, Service } from "../../bench/service.ts";
import { measured } from "../../bench/stats.ts";
import { round } from "../../bench/table.ts";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { MAX_TIMESTAMP_MS, type WindowTotal } from "../../src/usage_store/port.ts";
import { proveEveryBill } from "../support/prove_bills.ts";
import { Beside } from "./beside.ts";
import { openCounter } from "./receiver.ts";
import type { Finding } from "../support/report.ts";
import { UsageLoad } from "./usage_load.ts";
import { Watch } from "./watch.ts";

const P99_MS = 250;
const LONGEST_MS = 1_000;
const GROWTH = 0.05;
/** Descriptors that a run may have more at its end than before: sockets that are just open. */
const MORE_DESCRIPTORS = 8;
const DELIVERED_MS = 60_000;
const TOTALS_MS = 600_000;
/** The engine keeps blocks of its file in memory up to here: a limit that it reaches early, so that growth is seen. */
const USAGE_MEMORY = "500MB";
const PROGRESS_S = 60;

/** How long, how fast, and what with. */
export interface SoakPlan {
  seconds: number;
  /** Events a second, and in a request. */
  rate: number;
  batch: number;
  billing_every_s: number;
  progress(line: string): void;
}

const Created = Type.Object({ data: Type.Object({ id: Type.Integer() }) });

/** Loads a real server for a time and tells what held. Errors: throws where the load itself can't go on. */
export async function soak(cleanup: Cleanup, plan: SoakPlan): Promise<Finding[]> {
  const receiver = openCounter();
  cleanup.add(() => receiver.stop());
  // Webhooks go to this machine outside of production only.
  const env = { NODE_ENV: "test", USAGE_MEMORY_LIMIT: USAGE_MEMORY };
  const service = new Service(cleanup, cleanup.folder(), env);
  await service.start();
  const company = new Company(service, 1, FIRST_EMAIL);
  await company.signIn();
  await company.makeRecords({ clients: 20, products: 3, subscriptions: 50 });
  const hook = { url: receiver.url, event_types: ["product.*", "billing_record.*"] };
  await company.fetchJson(Created, "POST", "/webhooks", hook);
  const today = Temporal.Now.plainDateISO("UTC");
  const last_month = today.toPlainYearMonth().subtract({ months: 1 });
  const late = last_month.toPlainDate({ day: 15 }).toZonedDateTime("UTC").epochMilliseconds;
  const load = new UsageLoad(company, { per_s: plan.rate, batch: plan.batch, last_month_ms: late });
  const beside = new Beside(company, plan.billing_every_s, last_month.toString());
  const watch = new Watch(service);
  const looking = lookNowAndThen(watch, load, plan);
  try {
    await load.run(plan.seconds);
  } finally {
    looking.stop();
    await beside.stop();
  }
  await beside.bill(last_month.toString());
  plan.progress("the load has ended: checking what is stored");
  await delivered(() => receiver.count("product.created") >= beside.result.changes);
  await service.stop();
  const { totals, bills } = await readStored(service.data_dir, company);
  const hooks = receiver.count("product.created");
  return [...usageFindings(load, totals), ...watchFindings(watch), ...besideFindings(beside, bills, hooks)];
}

/** Notes memory and descriptors, and prints a line a minute. */
function lookNowAndThen(watch: Watch, load: UsageLoad, plan: SoakPlan): { stop(): void } {
  const every_s = Math.min(10, plan.seconds / 10);
  let printed_s = 0;
  const look = async () => {
    const { at_s, memory, index, descriptors } = await watch.look();
    if (at_s - printed_s < Math.min(PROGRESS_S, plan.seconds / 4)) return;
    printed_s = at_s;
    const { accepted, refused, latencies_ms } = load.result;
    const { p99_ms, max_ms } = measured(1, 1, latencies_ms);
    const mib = (bytes: number) => `${Math.round(bytes / 2 ** 20)} MiB`;
    plan.progress(
      `${accepted.toLocaleString("en-US")} events accepted, ${refused} batches refused; p99 ${Math.round(p99_ms)} ms, \
longest ${Math.round(max_ms)} ms; memory ${mib(memory)}, of it the index ${mib(index)}; ${descriptors} descriptors`,
    );
  };
  // A look that fails is one fewer: what the server does not answer shows in the load.
  const timer = setInterval(() => void look().catch(() => undefined), every_s * 1_000);
  return { stop: () => clearInterval(timer) };
}

async function delivered(holds: () => boolean): Promise<void> {
  const give_up = performance.now() + DELIVERED_MS;
  while (!holds() && performance.now() < give_up) await Bun.sleep(100);
}

/** What is on disk, once the server has stopped. */
interface Stored {
  totals: ReadonlyMap<number, WindowTotal>;
  bills: Awaited<ReturnType<typeof proveEveryBill>>;
}

/** Reads the closed stores: the totals of each subscription, and every bill rated anew. */
async function readStored(data_dir: string, company: Company): Promise<Stored> {
  const env = { DATA_DIR: data_dir, LOG_LEVEL: "fatal", USAGE_QUERY_TIMEOUT: String(TOTALS_MS / 1_000) };
  const deps = await openDeps(readConfig(env));
  try {
    const ids = company.subscriptions.map(({ id }) => id);
    const windows = ids.map((id) => ({ subscription_id: id, start_ms: 0, end_ms: MAX_TIMESTAMP_MS }));
    const totals = await deps.usage.totals(company.id, windows, { timeout_ms: TOTALS_MS });
    const bills = await proveEveryBill(deps);
    return { totals: new Map(totals.map((total, i) => [ids[i] ?? 0, total])), bills };
  } finally {
    await deps.close();
  }
}

const count = (n: number) => n.toLocaleString("en-US");

function usageFindings(load: UsageLoad, totals: ReadonlyMap<number, WindowTotal>): Finding[] {
  const { accepted, refused, latencies_ms } = load.result;
  const stored = [...totals.values()].reduce((all, { event_count }) => all + event_count, 0);
  const unequal = [...load.digests].filter(([id, digest]) => {
    const total = totals.get(id);
    return total === undefined || !digest.equals(total);
  });
  const { p99_ms, p50_ms, max_ms } = measured(1, 1, latencies_ms);
  return [
    {
      what: "accepted = stored",
      measured: `${count(accepted)} = ${count(stored)}`,
      holds: accepted === stored && accepted > 0,
    },
    {
      what: "digests of ids, times and usage equal, by subscription",
      measured: `${load.digests.size - unequal.length} of ${load.digests.size}`,
      holds: unequal.length === 0,
    },
    { what: "batches refused and sent again", measured: count(refused), holds: refused === 0 },
    {
      what: `p99 of a batch ≤ ${P99_MS} ms`,
      measured: `${round(p99_ms)} ms, median ${round(p50_ms)} ms`,
      holds: p99_ms <= P99_MS,
    },
    { what: `longest ≤ ${LONGEST_MS} ms`, measured: `${round(max_ms)} ms`, holds: max_ms <= LONGEST_MS },
  ];
}

function watchFindings(watch: Watch): Finding[] {
  const { growth, descriptors } = watch;
  const { before, after } = descriptors;
  return [
    {
      what: `memory without the index, of it ${USAGE_MEMORY} the engine's, grows ≤ ${GROWTH * 100} % from minute 45`,
      measured: growth === null ? "the run is shorter than 75 minutes" : `${(growth * 100).toFixed(1)} %`,
      holds: growth === null ? null : growth <= GROWTH,
    },
    {
      what: "descriptors stay",
      measured: `${before}, at the end ${after}`,
      // NaN, of a server that was never asked, must not pass.
      holds: after <= before + MORE_DESCRIPTORS,
    },
  ];
}

function besideFindings({ result }: Beside, bills: Stored["bills"], hooks: number): Finding[] {
  const { searches, refused_searches, changes, billing_runs, records, failed_bills } = result;
  return [
    {
      what: "searches and sums answered",
      measured: `${count(searches)}, ${refused_searches} refused`,
      holds: refused_searches === 0 && searches > 0,
    },
    {
      what: "every change told by a webhook",
      measured: `${count(hooks)} of ${count(changes)}`,
      holds: hooks >= changes && changes > 0,
    },
    {
      what: "billing runs end without a failed bill",
      measured: `${billing_runs} runs, ${count(records)} records, ${failed_bills} failed`,
      holds: failed_bills === 0 && records > 0,
    },
    {
      what: "every bill proved from the stored events",
      measured: `${count(bills.bills - bills.unproved.length)} of ${count(bills.bills)}`,
      holds: bills.unproved.length === 0 && bills.bills > 0,
    },
  ];
}
