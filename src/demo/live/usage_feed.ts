import { listApiKeys } from "../../access/api_keys/service.ts";
import { listSubscriptions } from "../../billing/subscriptions/service.ts";
import type { Actor } from "../../core/access.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { recordUsage } from "../../usage/ingest/service.ts";
import type { Calendar } from "../calendar.ts";
import type { Line } from "../cast/subscriptions.ts";
import { KEYS } from "../story/developers.ts";
import { shareOfHour } from "../usage/shapes.ts";
import type { UsagePlan } from "../usage/plan.ts";
import { sampleEvent } from "./event.ts";
import type { Colleague } from "./colleague.ts";

/** Events a second while one watches: more than the past had, and as much smaller, so that sums go on as they did. */
const EVENTS_S = 2;

/** How often it is looked up which subscriptions there are, and whether the gateway's key is still good. */
const LOOK_MS = 20_000;

/** A subscription that is in use, with the events of an hour that it would have. */
interface Source {
  line: Line;
  hourly: number;
}

/** Usage that keeps coming, sent with the key of the company's gateway: none where that was revoked. */
export class UsageFeed {
  readonly #calendar: Calendar;
  readonly #lines: ReadonlyMap<string, Line>;
  readonly #plan: UsagePlan;
  #gateway: Actor | null = null;
  #sources: Source[] = [];
  #looked_ms = -LOOK_MS;
  /** The part of an event that is still to come. */
  #owed = 0;

  constructor(calendar: Calendar, lines: readonly Line[], plan: UsagePlan) {
    this.#calendar = calendar;
    this.#lines = new Map(lines.map((line) => [line.external_id, line]));
    this.#plan = plan;
  }

  /** Sends what `seconds` bring. */
  async send(colleague: Colleague, seconds: number): Promise<void> {
    if (performance.now() - this.#looked_ms > LOOK_MS) await this.#look(colleague);
    if (this.#gateway === null || this.#sources.length === 0) return;
    this.#owed += seconds * EVENTS_S * 2 * Math.random();
    const count = Math.floor(this.#owed);
    this.#owed -= count;
    if (count === 0) return;
    const whole = this.#sources.reduce((sum, { hourly }) => sum + hourly, 0);
    const share = Math.min(1, whole / 3_600 / EVENTS_S);
    const events = Array.from({ length: count }, () => this.#event(whole, share)).flat();
    if (events.length > 0) await colleague.callAs(this.#gateway, recordUsage, events);
  }

  #event(whole: number, share: number) {
    let place = Math.random() * whole;
    const source = this.#sources.find(({ hourly }) => (place -= hourly) <= 0) ?? this.#sources[0];
    // A picture is one call, whatever its size: there are as many as ever.
    if (source === undefined || (source.line.product === "images" && Math.random() > share)) return [];
    const { line } = source;
    const sample = sampleEvent(line.product, 4 + Math.round(6 * line.weight), share);
    return [{ id: crypto.randomUUID(), external_subscription_id: line.external_id, ...sample }];
  }

  async #look({ call, company_id, now }: Colleague): Promise<void> {
    this.#looked_ms = performance.now();
    const at = now().toZonedDateTimeISO(this.#calendar.now.timeZoneId);
    this.#sources = [];
    for (let page = 1; ; page++) {
      const query = { status: "active", limit: SHARED_LIMITS.page_limit, page } as const;
      const { data } = await call(listSubscriptions, query);
      for (const { external_subscription_id, started_at } of data) {
        const line = this.#lines.get(external_subscription_id);
        if (line === undefined || Temporal.Instant.compare(started_at, at.toInstant()) > 0) continue;
        const hourly = this.#plan.expectedOn(line, at.toPlainDate()) * shareOfHour(line.rhythm, at.hour);
        this.#sources.push({ line, hourly });
      }
      if (data.length < query.limit) break;
    }
    const { data: keys } = await call(listApiKeys, { role: "ingest", revoked: false });
    const key = keys.find(({ name }) => name === KEYS.gateway.name);
    this.#gateway =
      key === undefined
        ? null
        : {
            kind: "key",
            key_id: key.id,
            agent_key_id: key.id,
            company_id,
            role: key.role,
            environment: key.environment,
          };
  }
}
