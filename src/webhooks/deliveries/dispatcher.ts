import { type Instances, shareOf } from "../../app/instances.ts";
import type { Background } from "../../core/background.ts";
import type { Config } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import type { Log } from "../../core/log.ts";
import type { Secrets } from "../../core/secret_box.ts";
import type { Clock } from "../../core/time.ts";
import { span, traceHeaders } from "../../core/trace.ts";
import type { Store, Tx } from "../../store/store.ts";
import { listActive } from "../endpoints/queries.ts";
import { ConcurrencyLimits } from "./concurrency_limits.ts";
import { fanOut } from "./fan_out.ts";
import { leaseLogs, listDueEndpoints, listDueLogs, releaseLeases, renewLeases } from "./lease_queries.ts";
import { abandonPending } from "./queries.ts";
import { type Delivery, type FinishedAttempt, recordAttempts } from "./record_attempts.ts";
import { webhookAttempts } from "./metrics.ts";
import { hasSucceeded } from "./rules.ts";
import { type Message, type SendOptions, type SendOutcome, send } from "./send.ts";
import { signMessage } from "./sign.ts";

/** The dependencies of the dispatcher. */
interface DispatcherDeps {
  store: Store;
  clock: Clock;
  log: Log;
  config: Pick<Config, "is_production">;
  secrets: Secrets;
  background: Background;
  instances: Pick<Instances, "others">;
}

/**
 * The outbox dispatcher: fans events out to deliveries, leases due ones, sends them and records the attempts. A lease
 * ends by itself when its dispatcher dies, so that a delivery that was under way is sent again; several dispatchers on
 * one database share the work. Decisions 0060, 0063.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #id = crypto.randomUUID();
  /** Leased deliveries by their id, until their outcome is recorded. */
  readonly #under_way = new Map<number, Delivery>();
  /** Endpoints whose last attempt failed: one concurrent attempt each, and a bound for all of them. */
  readonly #failing = new Set<number>();
  readonly #cut = new AbortController();
  #ended: FinishedAttempt[] = [];
  #renewed_ms = 0;
  /** The endpoint after which the next search for due ones begins. */
  #after_endpoint = 0;
  #wake: () => void = () => undefined;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  /** Works until the background stops, then waits a little for what is under way. */
  async run(): Promise<void> {
    const { background, log } = this.#deps;
    let failures = 0;
    void background.stopping.then(() => this.#wake());
    while (!background.is_stopping) {
      try {
        const has_more = await this.#turn();
        failures = 0;
        // An embedded database never yields to the event loop: the pause lets requests run in between.
        if (has_more) await Bun.sleep(LIMITS.webhook_pause_ms);
        else if (!background.is_stopping) await this.#sleep();
      } catch (error) {
        // Only the first failure of a series is logged: most often the database is down.
        if (++failures === 1) log.error({ err: error }, "webhooks: cannot dispatch, it will be tried again");
        await Bun.sleep(Math.min(failures, 4) * LIMITS.webhook_poll_ms);
      }
    }
    await this.#drain().catch((error: unknown) => log.error({ err: error }, "webhooks: cannot stop cleanly"));
  }

  /** Works until no event waits, no delivery is due and no attempt is under way: where the clock stands still. */
  async settle(): Promise<void> {
    for (;;) {
      const has_more = await this.#turn();
      if (this.#under_way.size > 0) await this.#sleep();
      else if (!has_more) return;
    }
  }

  #shareOf(limit: number): number {
    return shareOf(this.#deps.instances, limit);
  }

  /** One round of everything; returns whether there is more to do. */
  async #turn(): Promise<boolean> {
    const { store, clock } = this.#deps;
    await this.#record();
    await this.#renew();
    const events = await fanOut(store, clock.now());
    await this.#lease();
    return this.#ended.length > 0 || events === LIMITS.webhook_fan_out_events;
  }

  /** Waits until an attempt ends, or for the next poll. */
  async #sleep(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LIMITS.webhook_poll_ms);
    this.#wake = resolve;
    if (this.#ended.length === 0) await promise;
    clearTimeout(timer);
  }

  /** Leases due deliveries, and starts an attempt of each. */
  async #lease(): Promise<void> {
    const { store, clock } = this.#deps;
    if (this.#under_way.size >= this.#shareOf(LIMITS.webhook_slots)) return;
    const now = clock.now();
    const ids = await this.#choose(now);
    if (ids.length === 0) return;
    for (const delivery of await store.tx((q) => lease({ q, now }, this.#id, ids))) {
      this.#under_way.set(delivery.log.id, delivery);
      void this.#attempt(delivery);
    }
  }

  /** Due deliveries that have a slot. The order is random: with more than there are slots, all get their turn. */
  async #choose(now: Temporal.Instant): Promise<number[]> {
    const tx = { q: this.#deps.store.read, now };
    const under_way = [...this.#under_way.values()].map(({ endpoint }) => endpoint.id);
    const limits = new ConcurrencyLimits(under_way, this.#failing, (limit) => this.#shareOf(limit));
    const chosen: number[] = [];
    const due = await listDueEndpoints(tx, this.#after_endpoint, LIMITS.webhook_due_endpoints);
    // Where one search does not return all of them, the next one goes on after its last.
    this.#after_endpoint = due.length < LIMITS.webhook_due_endpoints ? 0 : (due.at(-1) ?? 0);
    for (const endpoint_id of shuffled(due)) {
      const available = limits.availableFor(endpoint_id);
      if (available === 0) continue;
      // Those under way are not due, unless the clock jumped.
      const found = await listDueLogs(tx, endpoint_id, available + limits.active(endpoint_id));
      const ids = found.filter((id) => !this.#under_way.has(id)).slice(0, available);
      limits.acquire(endpoint_id, ids.length);
      chosen.push(...ids);
    }
    return chosen;
  }

  /** Sends one delivery; never rejects. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { clock, config, secrets } = this.#deps;
    const began_at = clock.now();
    const options = { is_production: config.is_production, stop: this.#cut.signal };
    const message = signMessage(secrets, delivery.endpoint, delivery.log, began_at);
    const outcome =
      message instanceof AppError ? unsent(message) : await observedAttempt(message, delivery, options);
    this.#ended.push({ ...delivery, began_at, ended_at: clock.now(), outcome, random: Math.random() });
    this.#wake();
  }

  /** Records the attempts that have ended, and frees their slots. */
  async #record(): Promise<void> {
    const { store, clock, log } = this.#deps;
    // A copy: more may end while these are written.
    const ended = [...this.#ended];
    if (ended.length === 0) return;
    const lost = await store.tx((q) => recordAttempts({ q, now: clock.now() }, this.#id, ended));
    this.#ended = this.#ended.slice(ended.length);
    for (const { log: delivered, endpoint, outcome } of ended) {
      this.#under_way.delete(delivered.id);
      if (hasSucceeded(outcome)) this.#failing.delete(endpoint.id);
      else this.#failing.add(endpoint.id);
    }
    if (this.#failing.size > LIMITS.webhook_due_endpoints) this.#failing.clear();
    if (lost.length > 0) log.warn({ webhook_log_ids: lost }, "webhooks: claims ended before their attempts");
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#deps;
    if (this.#under_way.size === 0 || performance.now() - this.#renewed_ms < LIMITS.webhook_renew_ms) return;
    this.#renewed_ms = performance.now();
    const until = leaseEnd(clock.now());
    await store.tx((q) => renewLeases({ q }, this.#id, [...this.#under_way.keys()], until));
  }

  async #drain(): Promise<void> {
    const { store, clock } = this.#deps;
    const give_up = performance.now() + LIMITS.webhook_drain_ms;
    await this.#record();
    while (this.#under_way.size > 0 && performance.now() < give_up) {
      await this.#sleep();
      await this.#record();
    }
    if (this.#under_way.size === 0) return;
    this.#cut.abort();
    const ids = [...this.#under_way.keys()];
    await store.tx((q) => releaseLeases({ q, now: clock.now() }, this.#id, ids));
  }
}

/** Leases deliveries with their endpoints; those of endpoints that are no longer active are abandoned. */
async function lease(
  tx: Omit<Tx, "scope">,
  dispatcher_id: string,
  ids: readonly number[],
): Promise<Delivery[]> {
  const logs = await leaseLogs(tx, dispatcher_id, ids, leaseEnd(tx.now));
  const endpoint_ids = [...new Set(logs.map(({ endpoint_id }) => endpoint_id))];
  const found = await listActive(tx.q, { ids: endpoint_ids });
  const endpoints = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
  for (const id of endpoint_ids) if (!endpoints.has(id)) await abandonPending(tx, id);
  return logs.flatMap((log) => {
    const endpoint = endpoints.get(log.endpoint_id);
    return endpoint ? [{ log, endpoint }] : [];
  });
}

function leaseEnd(now: Temporal.Instant): Temporal.Instant {
  return now.add({ milliseconds: LIMITS.webhook_lease_ms });
}

/** Makes an attempt, counts it and traces it: the receiver may go on with the trace. */
function observedAttempt(message: Message, { log }: Delivery, options: SendOptions): Promise<SendOutcome> {
  const attributes = { "meterhouse.event_type": log.event_type, "http.request.method": "POST" };
  return span("webhook attempt", { attributes, kind: "client", parent: null }, async (current) => {
    const headers = { ...message.headers, ...traceHeaders() };
    const outcome = await send({ ...message, headers }, options);
    const { status_code } = outcome;
    if (status_code !== null) current.set({ "http.response.status_code": status_code });
    if (!hasSucceeded(outcome)) current.fail(status_code === null ? "no_answer" : String(status_code));
    webhookAttempts.of(outcomeOf(outcome)).add();
    return outcome;
  });
}

function outcomeOf(outcome: SendOutcome): "succeeded" | "refused" | "failed" {
  if (outcome.status_code === null) return "failed";
  return hasSucceeded(outcome) ? "succeeded" : "refused";
}

/** The outcome of an attempt that could not be signed. It is retried like any other failure. */
function unsent({ message: error }: AppError): SendOutcome {
  return { status_code: null, retry_after: null, response_excerpt: null, duration_ms: 0, error };
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
