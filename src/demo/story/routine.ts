import { JOBS } from "../../server/jobs.ts";
import { runJob } from "../../server/scheduler.ts";
import type { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import type { Stretch } from "../usage/rows.ts";
import type { UsageSource } from "../usage/usage_source.ts";
import type { World } from "../world.ts";
import type { Plot } from "./plot.ts";

/** Jobs that the past needs once a night; the service runs them every second. */
const NIGHTLY = [
  "billing_model_changes",
  "billing_model_migrations",
  "mandates_expire",
  "mandate_orders",
  "collections",
  "loan_application_expiry",
  "consent_expiry",
];
/** Those that only the present asks for, or that tidy up. */
const AT_LAST = ["simulations", "running_bills", "event_prune", "audit_log_prune"];

/** Days of the month on which periods end. */
const ANCHORS = [1, 15];
/** Mondays count only in so many last days, when there is more usage. */
const WEEKLY_DAYS = 190;
/** Fridays of so many last days end with a look at limits and alerts: more would take too long. */
const WATCHED_DAYS = 56;
const FRIDAY = 5;

const NOTHING = Promise.resolve([]);

/** The nights of the past: usage has come in, and jobs do what is due. */
export class Routine {
  readonly #plot: Plot;
  readonly #source: UsageSource;
  readonly #stretches: Stretch[] = [];
  #making: Promise<EventBlock[]> = NOTHING;
  #storing: Promise<unknown> = NOTHING;
  readonly #bill_on = new Set<string>();
  readonly #recheck_on = new Set<string>();
  readonly #after_usage: ((day: Temporal.PlainDate) => Promise<unknown>)[] = [];
  /** How many events are stored. */
  stored = 0;

  constructor(plot: Plot, source: UsageSource) {
    this.#plot = plot;
    this.#source = source;
  }

  /** Has the night to a day bill whatever is due, and not only those in which periods end. */
  billOn(day: Temporal.PlainDate): void {
    this.#bill_on.add(day.toString());
  }

  /** Has the night to a day look for usage that came late. */
  recheckOn(day: Temporal.PlainDate): void {
    this.#recheck_on.add(day.toString());
  }

  /** Has something done in each night in which usage has come. */
  afterUsage(work: (day: Temporal.PlainDate) => Promise<unknown>): void {
    this.#after_usage.push(work);
  }

  /** Puts every night, and the evenings that are watched, on the agenda; the first usage is made from here on. */
  begin(): void {
    const { agenda, calendar } = this.#plot;
    const nights = calendar.daysTo(calendar.today);
    let from_ms = calendar.at(calendar.start).epochMilliseconds;
    const usageUntil = (at: Temporal.ZonedDateTime) => {
      const until_ms = at.epochMilliseconds;
      if (until_ms > calendar.now.epochMilliseconds) return;
      this.#stretches.push({ from_ms, until_ms });
      from_ms = until_ms;
    };
    for (let i = 1; i <= nights; i++) {
      const day = calendar.start.add({ days: i });
      const night = calendar.at(day, "01:05");
      if (this.#isUsageDay(day) && isBefore(night, calendar.now)) usageUntil(calendar.at(day));
      agenda.note(night, () => this.#night(day));
      const evening = calendar.at(day, "20:00");
      if (nights - i > WATCHED_DAYS || day.dayOfWeek !== FRIDAY) continue;
      if (!isBefore(evening, calendar.now)) continue;
      usageUntil(evening);
      agenda.note(evening, () => this.#evening());
    }
    usageUntil(calendar.now);
    this.#make();
    // Not before there is somebody whose usage it is, however slowly contracts are signed.
    agenda.note(calendar.at(calendar.start), async () => this.#store());
  }

  /** The rest of the usage, and what the jobs make of it. */
  async finish(): Promise<void> {
    await this.#storing;
    for (const name of ["billing_run", "credit_thresholds", ...NIGHTLY, ...AT_LAST]) await this.#run(name);
    await this.#watch();
  }

  async #night(day: Temporal.PlainDate): Promise<void> {
    const key = day.toString();
    const has_usage = this.#isUsageDay(day);
    const bills = ANCHORS.includes(day.day) || this.#bill_on.has(key);
    const rechecks = this.#recheck_on.has(key);
    // What counts usage must find whole stretches of it: else it would count what happens to be stored by then.
    if (has_usage || bills || rechecks) await this.#storing;
    if (bills) await this.#run("billing_run");
    if (rechecks) await this.#run("billing_recheck");
    if (has_usage) {
      await this.#run("credit_thresholds");
      for (const work of this.#after_usage) await work(day);
      this.#store();
    }
    for (const name of NIGHTLY) await this.#run(name);
  }

  async #evening(): Promise<void> {
    await this.#storing;
    await this.#watch();
    this.#store();
  }

  /** Tells of limits and alerts. Between two evenings their totals are not kept: each event would be read once more. */
  async #watch(): Promise<void> {
    const { deps, company_id } = this.#plot.world;
    for (let look = 0; look < LOOKS; look++) {
      await this.#run("spend_limits");
      await this.#run("alerts");
      await deps.usage.running_totals.counted();
    }
    deps.limits.forget(deps.limits.watchedKeys(company_id));
  }

  /** Stores the next stretch, as of its end, while people and other jobs are at work, and makes the one after it. */
  #store(): void {
    const stretch = this.#stretches.shift();
    if (stretch === undefined) return;
    const making = this.#making;
    this.#make();
    const { world } = this.#plot;
    const now = Temporal.Instant.fromEpochMilliseconds(stretch.until_ms);
    const store = async () => {
      const blocks = await making;
      this.stored += await this.#source.store(blocks, (operation, input) =>
        world.pass(world.system, operation, input, { origin: "cli", now }),
      );
    };
    this.#storing = store();
    // Whoever waits for it is told.
    this.#storing.catch(() => undefined);
  }

  /** Makes the next stretch once the one before it is made. */
  #make(): void {
    const [next] = this.#stretches;
    const before = this.#making;
    const make = async () => {
      await before;
      return next === undefined ? [] : this.#source.make(next);
    };
    this.#making = make();
    this.#making.catch(() => undefined);
  }

  #isUsageDay(day: Temporal.PlainDate): boolean {
    const { today } = this.#plot.calendar;
    const is_late = day.until(today, { largestUnit: "days" }).days <= WEEKLY_DAYS;
    return ANCHORS.includes(day.day) || (is_late && day.dayOfWeek === 1);
  }

  #run(name: string): Promise<void> {
    return runNow(this.#plot.world, name);
  }
}

/** The first look has totals counted, the second one tells. */
const LOOKS = 2;

/** Runs a job of the service. Errors: throws what it failed by. */
export async function runNow({ deps }: Pick<World, "deps">, name: string): Promise<void> {
  const job = JOBS.find((one) => one.name === name);
  if (job === undefined) throw new Error(`There is no job ${name}`);
  let failure: unknown;
  await runJob(deps, job, (_, error) => (failure = error));
  if (failure !== undefined) throw failure;
}

function isBefore(at: Temporal.ZonedDateTime, end: Temporal.ZonedDateTime): boolean {
  return Temporal.ZonedDateTime.compare(at, end) < 0;
}
