import type { Deps } from "../app/deps.ts";
import type { Config } from "../core/config.ts";
import type { PasswordCost } from "../core/passwords.ts";
import type { Report } from "../server/operator/action.ts";
import { openDeps } from "../server/open_deps.ts";
import { Agenda } from "./agenda.ts";
import { Calendar } from "./calendar.ts";
import { CLIENTS } from "./cast/clients.ts";
import { COMPANY } from "./cast/company.ts";
import type { DemoSize } from "./cast/size.ts";
import { castLines } from "./cast/subscriptions.ts";
import { MovedClock } from "./moved_clock.ts";
import { openReceiver, SILENT_DAYS } from "./receiver.ts";
import { analyse } from "./story/analysis.ts";
import { fillCatalog } from "./story/catalog.ts";
import { liveOn } from "./story/changes.ts";
import { collectDebits } from "./story/debits.ts";
import { giveKeys } from "./story/developers.ts";
import { foundCompany } from "./story/founding.ts";
import { sendLateUsage } from "./story/late_usage.ts";
import { setLimits } from "./story/limits.ts";
import { lend } from "./story/loans.ts";
import type { Plot } from "./story/plot.ts";
import { Routine } from "./story/routine.ts";
import { winClients } from "./story/sales.ts";
import { Webhooks } from "./story/webhooks.ts";
import { SEED, UsagePlan } from "./usage/plan.ts";
import { UsageSource } from "./usage/usage_source.ts";
import { World } from "./world.ts";

/** What a demo is made of. */
interface Making {
  now: Temporal.Instant;
  password: string;
  password_cost: PasswordCost;
  size: DemoSize;
  report: Pick<Report, "progress">;
}

/** How long before its first client the demo's past begins. */
const DAYS_BEFORE = 41;

/**
 * Lives through the past of the demo's company, in empty stores: every change is a call of an operation, under a clock
 * that is moved. Returns the port at which its webhooks were taken. Errors: throws whatever goes wrong.
 */
export async function makeDemo(config: Config, making: Making): Promise<{ receiver_port: number }> {
  const calendar = new Calendar(making.now, COMPANY.timezone);
  const begin = calendar.at(calendar.start.subtract({ days: DAYS_BEFORE })).toInstant();
  const clock = new MovedClock(begin, calendar.now.toInstant());
  // What a power cut spoils is made anew.
  const deps = await openDeps(config, { clock, is_scratch: true, password_cost: making.password_cost });
  const silent_since = calendar.at(calendar.ago(SILENT_DAYS)).toInstant();
  const receiver = openReceiver(0, { clock, silent_since });
  try {
    // Much is written: it must stop while the disk still has its reserve.
    await deps.guards.disk.watch();
    await liveThrough(deps, { ...making, calendar, clock, receiver_port: receiver.port });
    return { receiver_port: receiver.port };
  } finally {
    await receiver.stop();
    await deps.close();
  }
}

async function liveThrough(
  deps: Deps,
  making: Making & { calendar: Calendar; clock: MovedClock; receiver_port: number },
): Promise<void> {
  const { calendar, clock, password, size, report } = making;
  const clients = CLIENTS.slice(0, size.clients);
  const lines = castLines(calendar, clients);
  const agenda = new Agenda(calendar.now.toInstant());
  const plot: Plot = { world: new World(deps, clock, SEED), agenda, calendar, clients, lines, password };
  const plan = new UsagePlan({ calendar, lines, events: size.events });
  const source = await UsageSource.open(calendar, lines, plan);
  try {
    const routine = new Routine(plot, source);
    const webhooks = new Webhooks(plot);
    tellStory(plot, routine);
    webhooks.note(making.receiver_port);
    routine.begin();
    for (let step = agenda.next(); step !== undefined; step = agenda.next()) {
      clock.moveTo(step.at);
      await step.run().catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`Cannot make the demo: on ${step.at.toString()}: ${reason}`, { cause: error });
      });
      await webhooks.deliver();
      report.progress(routine.stored / size.events, textOf(step.at, routine.stored));
    }
    clock.moveTo(calendar.now.toInstant());
    await routine.finish();
    await webhooks.deliver();
  } finally {
    source.close();
  }
}

function tellStory(plot: Plot, routine: Routine): void {
  foundCompany(plot);
  fillCatalog(plot);
  giveKeys(plot);
  winClients(plot);
  sendLateUsage(plot, routine);
  liveOn(plot, routine);
  setLimits(plot);
  collectDebits(plot);
  lend(plot);
  analyse(plot);
}

function textOf(at: Temporal.Instant, events: number): string {
  const day = at.toZonedDateTimeISO(COMPANY.timezone).toPlainDate();
  return `${day.toString().slice(0, 7)}, ${events.toLocaleString("en-US")} events`;
}
