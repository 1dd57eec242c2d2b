import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { listCompanies } from "../../billing/companies/service.ts";
import type { Report } from "../../server/operator/action.ts";
import { listWebhooks, updateWebhook } from "../../webhooks/endpoints/service.ts";
import { Calendar } from "../calendar.ts";
import { CLIENTS } from "../cast/clients.ts";
import { COMPANY } from "../cast/company.ts";
import { castLines } from "../cast/subscriptions.ts";
import { type Mark, writeMark } from "../folder.ts";
import { openReceiver, SILENT_DAYS } from "../receiver.ts";
import { runNow } from "../story/routine.ts";
import { UsagePlan } from "../usage/plan.ts";
import { UsageSource } from "../usage/usage_source.ts";
import { catchUpUsage } from "./catch_up.ts";
import { type Colleague, colleagueAt } from "./colleague.ts";
import { answerDebits } from "./debit_answers.ts";
import { UsageFeed } from "./usage_feed.ts";

/** How often usage is sent, and how often banks answer. */
const USAGE_MS = 400;
const BANK_MS = 15_000;

/** What goes on while the demo is served. */
export class Life {
  readonly #deps: Deps;
  readonly #colleague: Colleague;
  readonly #feed: UsageFeed;

  private constructor(deps: Deps, colleague: Colleague, feed: UsageFeed) {
    this.#deps = deps;
    this.#colleague = colleague;
    this.#feed = feed;
  }

  /** Catches up with the time since the demo was last served. */
  static async open(deps: Deps, mark: Mark, report: Report): Promise<Life> {
    const colleague = colleagueAt(deps, await companyOf(deps));
    const made_at = Temporal.Instant.from(mark.made_at);
    const calendar = new Calendar(made_at, COMPANY.timezone);
    const lines = castLines(calendar, CLIENTS.slice(0, mark.clients));
    const plan = new UsagePlan({ calendar, lines, events: mark.events });
    const source = await UsageSource.open(calendar, lines, plan);
    try {
      const events = await catchUpUsage(colleague, source, made_at);
      if (events > 0) report.line(`Caught up with ${events.toLocaleString("en-US")} events`);
    } finally {
      source.close();
    }
    // Before anybody looks: the job itself would come within the hour.
    await runNow({ deps }, "billing_run");
    const silent_since = calendar.at(calendar.ago(SILENT_DAYS)).toInstant();
    const receiver = openReceiver(mark.receiver_port, { clock: deps.clock, silent_since });
    if (receiver.port !== mark.receiver_port) await moveWebhooks(deps, colleague, mark, receiver.port);
    void deps.background.track(deps.background.stopping.then(() => receiver.stop()));
    return new Life(deps, colleague, new UsageFeed(calendar, lines, plan));
  }

  /** Goes on until the background is stopped. */
  begin(): void {
    const { background } = this.#deps;
    void background.track(this.#goOn());
  }

  async #goOn(): Promise<void> {
    const { background, log } = this.#deps;
    let sent_ms = performance.now();
    let answered_ms = sent_ms;
    while (!background.is_stopping) {
      await Promise.race([Bun.sleep(USAGE_MS), background.stopping]);
      const now_ms = performance.now();
      try {
        await this.#feed.send(this.#colleague, (now_ms - sent_ms) / 1_000);
        sent_ms = now_ms;
        if (now_ms - answered_ms < BANK_MS) continue;
        answered_ms = now_ms;
        await answerDebits(this.#colleague);
      } catch (error) {
        // Such as a full disk: what was not sent is not missed.
        sent_ms = now_ms;
        log.debug({ err: error }, "demo: life stood still for a moment");
      }
    }
  }
}

/** The company of the demo is the first; whoever tries things out may have added others. */
async function companyOf(deps: Deps): Promise<number> {
  const request_id = Bun.randomUUIDv7();
  const ctx = deps.openContext({ actor: { kind: "operator" }, origin: "cli", request_id, address: null });
  const [company] = await call(ctx, listCompanies, {});
  if (company === undefined) throw new Error("The demo has no company");
  return company.id;
}

/** Another program has taken the port at which webhooks were received. */
async function moveWebhooks(
  deps: Deps,
  { call: callAsSystem }: Colleague,
  mark: Mark,
  port: number,
): Promise<void> {
  const [before, after] = [mark.receiver_port, port].map((one) => `http://127.0.0.1:${one}/`);
  if (before === undefined || after === undefined) return;
  const { data } = await callAsSystem(listWebhooks, {});
  for (const { id, url, event_types, description } of data)
    if (url.startsWith(before))
      await callAsSystem(updateWebhook, { id, url: url.replace(before, after), event_types, description });
  writeMark(deps.config.data_dir, { ...mark, receiver_port: port });
}
