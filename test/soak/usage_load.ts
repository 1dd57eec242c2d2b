import { Connection } from "../../bench/connection.ts";
import type { Company } from "../../bench/company.ts";
import { type Event, makeEvent } from "../../bench/events.ts";
import { RunningDigest } from "./digest.ts";

/** A request waits for one of these where all are under way. */
const CONNECTIONS = 32;
const RETRY_MS = 500;
const HOUR_MS = 3_600_000;
/** One event of so many is of the month before: a billing run then has something to adjust. */
const LATE = 200;

/** What the load was answered. */
export interface LoadResult {
  accepted: number;
  /** Answers other than 201, after which the same batch was sent again. */
  refused: number;
  /** From the moment at which a batch was due until it was accepted. */
  latencies_ms: number[];
}

/** Events sent in batches at fixed times, whether or not those before are answered. */
export class UsageLoad {
  readonly #company: Company;
  readonly #options: { per_s: number; batch: number; last_month_ms: number };
  readonly #ids: ReadonlyMap<string, number>;
  readonly #idle: Connection[] = [];
  readonly #waiting: ((connection: Connection) => void)[] = [];
  readonly digests = new Map<number, RunningDigest>();
  readonly result: LoadResult = { accepted: 0, refused: 0, latencies_ms: [] };
  #made = 0;

  /** `last_month_ms`: an instant of the month before, for the late ones. */
  constructor(company: Company, options: { per_s: number; batch: number; last_month_ms: number }) {
    this.#company = company;
    this.#options = options;
    for (const { id } of company.subscriptions) this.digests.set(id, new RunningDigest());
    this.#ids = new Map(company.subscriptions.map((one) => [one.external_subscription_id, one.id]));
  }

  /** Sends for so long, and waits until all is accepted. Errors: throws when a batch is refused for a minute. */
  async run(seconds: number): Promise<void> {
    const { per_s, batch } = this.#options;
    const opening = Array.from({ length: CONNECTIONS }, () => Connection.open(this.#company.origin));
    this.#idle.push(...(await Promise.all(opening)));
    const started = performance.now();
    const sent = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const batches = Math.round((seconds * per_s) / batch);
    for (let i = 0; i < batches && failures.length === 0; i++) {
      const due = started + (i * batch * 1_000) / per_s;
      const early = due - performance.now();
      if (early > 0) await Bun.sleep(early);
      const sending = this.#send(due).catch((error) => void failures.push(error));
      sent.add(sending);
      void sending.then(() => sent.delete(sending));
    }
    await Promise.all(sent);
    for (const connection of this.#idle) connection.close();
    if (failures.length > 0) throw failures[0];
  }

  async #send(due: number): Promise<void> {
    const events = this.#makeBatch();
    const request = this.#company.request("POST", "/usage/events", events);
    const give_up = performance.now() + 60_000;
    for (;;) {
      const status = await this.#post(request);
      if (status === 201) break;
      this.result.refused += 1;
      if (performance.now() > give_up)
        throw new Error(`A batch was refused for a minute, last with ${status}`);
      await Bun.sleep(RETRY_MS);
    }
    this.result.latencies_ms.push(performance.now() - due);
    this.result.accepted += events.length;
    for (const { id, external_subscription_id, timestamp, usage } of events) {
      const subscription_id = this.#ids.get(external_subscription_id) ?? 0;
      this.digests.get(subscription_id)?.add(id, timestamp, usage);
    }
  }

  async #post(request: Uint8Array): Promise<number> {
    const connection = this.#idle.shift() ?? (await new Promise<Connection>((r) => this.#waiting.push(r)));
    const { status } = await connection.send(request);
    const next = this.#waiting.shift();
    if (next) next(connection);
    else this.#idle.push(connection);
    return status;
  }

  #makeBatch(): Event[] {
    const { batch, last_month_ms } = this.#options;
    const now = Date.now();
    return Array.from({ length: batch }, () => {
      const i = this.#made++;
      const is_late = i % LATE === LATE - 1;
      return makeEvent(this.#company.subscriptions, i, is_late ? last_month_ms + (i % HOUR_MS) : now);
    });
  }
}
