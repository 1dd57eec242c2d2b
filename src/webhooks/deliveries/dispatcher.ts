import { Webhook } from "standardwebhooks";
import type { Background } from "../../core/background.ts";
import type { Config } from "../../core/config.ts";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../../core/limits.ts";
import type { Log } from "../../core/log.ts";
import type { Secrets } from "../../core/secret_box.ts";
import { type Clock, iso } from "../../core/time.ts";
import type { Queries, Store } from "../../store/store.ts";
import { recordSystemChange } from "../../audit/recorder.ts";
import { type ActiveEndpoint, disableEndpoint, listActive } from "../endpoints/queries.ts";
import { signingSecrets } from "../endpoints/rules.ts";
import { openSecrets } from "../endpoints/sealed_secrets.ts";
import { fanOut } from "./fan_out.ts";
import {
  type ClaimedLog,
  claimLogs,
  abandonPending,
  listClaimed,
  listDueEndpoints,
  listDueLogs,
  releaseClaims,
  renewClaims,
  updateClaimed,
} from "./queries.ts";
import { hasSucceeded, isGone, retrySteps, afterAttempt } from "./rules.ts";
import { type Message, type SendOutcome, send } from "./send.ts";

/** What the dispatcher uses of what is opened. */
interface Tools {
  store: Store;
  clock: Clock;
  log: Log;
  config: Pick<Config, "is_production">;
  secrets: Secrets;
  background: Background;
}

/** A claimed delivery, and where it goes. */
interface Delivery {
  log: ClaimedLog;
  endpoint: ActiveEndpoint;
}

/** An attempt that has ended and is still to be written down. */
interface FinishedAttempt extends Delivery {
  began_at: Temporal.Instant;
  ended_at: Temporal.Instant;
  outcome: SendOutcome;
  /** How much of the jitter the next wait gets. */
  random: number;
}

/**
 * Tells endpoints what happened: turns new events into deliveries, claims what is due, sends it, and writes
 * down what came of it. A claim ends by itself when its dispatcher dies, so that a delivery that was under way
 * is sent again; several dispatchers on one database share the work. Decisions 0060, 0063.
 */
export class Dispatcher {
  readonly #tools: Tools;
  readonly #id = crypto.randomUUID();
  /** By the log's id; kept until the outcome is on record. */
  readonly #under_way = new Map<number, Delivery>();
  /** Endpoints whose last attempt failed: they get one slot each, and not all of them together. */
  readonly #failing = new Set<number>();
  readonly #cut = new AbortController();
  #ended: FinishedAttempt[] = [];
  #renewed_ms = 0;
  /** The endpoint after which the next look for what is due begins. */
  #after_endpoint = 0;
  #wake: () => void = () => undefined;

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** Works until the background is told to stop, then waits a little for what is under way. */
  async run(): Promise<void> {
    const { background, log } = this.#tools;
    let failures = 0;
    while (!background.is_stopping) {
      try {
        const has_more = await this.#turn();
        failures = 0;
        // An embedded database answers without ever leaving the process: requests get their turn in between.
        if (has_more) await Bun.sleep(LIMITS.webhook_pause_ms);
        else await this.#sleep();
      } catch (error) {
        // The first of a row is enough to know: most often the database is away.
        if (++failures === 1) log.error({ err: error }, "webhooks: cannot dispatch, it will be tried again");
        await Bun.sleep(Math.min(failures, 4) * LIMITS.webhook_poll_ms);
      }
    }
    await this.#drain().catch((error: unknown) => log.error({ err: error }, "webhooks: cannot stop cleanly"));
  }

  /** Does what there is to do now. Returns whether there is more. */
  async #turn(): Promise<boolean> {
    await this.#record();
    await this.#renew();
    const events = await fanOut(this.#tools.store, this.#tools.clock.now());
    await this.#claim();
    return this.#ended.length > 0 || events === LIMITS.webhook_fan_out_events;
  }

  /** Waits until an attempt ends, or for the next look. */
  async #sleep(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LIMITS.webhook_poll_ms);
    this.#wake = resolve;
    if (this.#ended.length === 0) await promise;
    clearTimeout(timer);
  }

  async #claim(): Promise<void> {
    const { store, clock } = this.#tools;
    if (this.#under_way.size >= LIMITS.webhook_slots) return;
    const now = clock.now();
    const ids = await this.#choose(now);
    if (ids.length === 0) return;
    const until = now.add({ milliseconds: LIMITS.webhook_lease_ms });
    const deliveries = await store.tx((q) => claim(q, now, until, this.#id, ids));
    for (const delivery of deliveries) {
      this.#under_way.set(delivery.log.id, delivery);
      void this.#attempt(delivery);
    }
  }

  /** What is due and has a slot, in no order: where there are more than slots, all get their turn. */
  async #choose(now: Temporal.Instant): Promise<number[]> {
    const { store } = this.#tools;
    const slots = new ConcurrencyLimits(this.#under_way.values(), this.#failing);
    const chosen: number[] = [];
    const due = await this.#dueEndpoints(now);
    for (const endpoint_id of shuffled(due)) {
      const room = slots.availableFor(endpoint_id);
      if (room === 0) continue;
      // Those under way are not due, unless the clock jumped.
      const found = await listDueLogs(store.read, now, endpoint_id, room + slots.active(endpoint_id));
      const ids = found.filter((id) => !this.#under_way.has(id)).slice(0, room);
      slots.acquire(endpoint_id, ids.length);
      chosen.push(...ids);
    }
    return chosen;
  }

  /** Where there are more than are looked at in one turn, the next turn goes on after them. */
  async #dueEndpoints(now: Temporal.Instant): Promise<number[]> {
    const limit = LIMITS.webhook_due_endpoints;
    const due = await listDueEndpoints(this.#tools.store.read, now, this.#after_endpoint, limit);
    this.#after_endpoint = due.length < limit ? 0 : (due.at(-1) ?? 0);
    return due;
  }

  /** Sends one delivery; never rejects. */
  async #attempt(delivery: Delivery): Promise<void> {
    const { clock, config, secrets } = this.#tools;
    const began_at = clock.now();
    const options = { is_production: config.is_production, stop: this.#cut.signal };
    const message = signed(secrets, delivery, began_at);
    const outcome = message instanceof AppError ? unsent(message) : await send(message, options);
    this.#ended.push({ ...delivery, began_at, ended_at: clock.now(), outcome, random: Math.random() });
    this.#wake();
  }

  /** Writes down what has ended since the last time; slots are free when that is done. */
  async #record(): Promise<void> {
    const { store, clock, log } = this.#tools;
    // A copy: more may end while these are written.
    const ended = [...this.#ended];
    if (ended.length === 0) return;
    const lost = await store.tx((q) => recordAttempts(q, clock.now(), this.#id, ended));
    this.#ended = this.#ended.slice(ended.length);
    for (const { log: of, endpoint, outcome } of ended) {
      this.#under_way.delete(of.id);
      if (hasSucceeded(outcome)) this.#failing.delete(endpoint.id);
      else this.#failing.add(endpoint.id);
    }
    if (this.#failing.size > LIMITS.webhook_due_endpoints) this.#failing.clear();
    if (lost.length > 0) log.warn({ webhook_log_ids: lost }, "webhooks: claims ended before their attempts");
  }

  async #renew(): Promise<void> {
    const { store, clock } = this.#tools;
    if (this.#under_way.size === 0 || performance.now() - this.#renewed_ms < LIMITS.webhook_renew_ms) return;
    this.#renewed_ms = performance.now();
    const until = clock.now().add({ milliseconds: LIMITS.webhook_lease_ms });
    await store.tx((q) => renewClaims(q, until, this.#id, [...this.#under_way.keys()]));
  }

  async #drain(): Promise<void> {
    const { store, clock } = this.#tools;
    const give_up = performance.now() + LIMITS.webhook_drain_ms;
    await this.#record();
    while (this.#under_way.size > 0 && performance.now() < give_up) {
      await this.#sleep();
      await this.#record();
    }
    if (this.#under_way.size === 0) return;
    this.#cut.abort();
    const ids = [...this.#under_way.keys()];
    await store.tx((q) => releaseClaims(q, clock.now(), this.#id, ids));
  }
}

/** Who may have how many attempts under way. */
class ConcurrencyLimits {
  readonly #failing: ReadonlySet<number>;
  readonly #active = new Map<number, number>();
  #free: number = LIMITS.webhook_slots;
  #free_failing: number = LIMITS.webhook_slots_failing;

  constructor(under_way: Iterable<Delivery>, failing: ReadonlySet<number>) {
    this.#failing = failing;
    for (const { endpoint } of under_way) this.acquire(endpoint.id, 1);
  }

  active(endpoint_id: number): number {
    return this.#active.get(endpoint_id) ?? 0;
  }

  availableFor(endpoint_id: number): number {
    const is_failing = this.#failing.has(endpoint_id);
    const endpoint_slots = (is_failing ? 1 : LIMITS.webhook_slots_endpoint) - this.active(endpoint_id);
    return Math.max(0, Math.min(endpoint_slots, this.#free, is_failing ? this.#free_failing : this.#free));
  }

  acquire(endpoint_id: number, count: number): void {
    this.#active.set(endpoint_id, this.active(endpoint_id) + count);
    this.#free -= count;
    if (this.#failing.has(endpoint_id)) this.#free_failing -= count;
  }
}

/** Claims deliveries; those whose endpoint is not active any more are given up. */
async function claim(
  q: Queries,
  now: Temporal.Instant,
  until: Temporal.Instant,
  claimed_by: string,
  ids: readonly number[],
): Promise<Delivery[]> {
  const logs = await claimLogs(q, now, until, claimed_by, ids);
  const endpoint_ids = [...new Set(logs.map(({ endpoint_id }) => endpoint_id))];
  const found = await listActive(q, { ids: endpoint_ids });
  const endpoints = new Map(found.map((endpoint) => [endpoint.id, endpoint]));
  for (const id of endpoint_ids) if (!endpoints.has(id)) await abandonPending(q, id, now);
  return logs.flatMap((log) => {
    const endpoint = endpoints.get(log.endpoint_id);
    return endpoint ? [{ log, endpoint }] : [];
  });
}

/** What comes of an attempt that could not be made. It is made again like any other that failed. */
function unsent({ message: error }: AppError): SendOutcome {
  return { status_code: null, retry_after: null, response_excerpt: null, duration_ms: 0, error };
}

/**
 * The message, its body and headers, signed anew for each attempt with every secret that holds; or why it can't be
 * signed, where no key opens a secret.
 */
function signed(secrets: Secrets, { log, endpoint }: Delivery, now: Temporal.Instant): Message | AppError {
  const { type, timestamp, data } = log.payload;
  const body = JSON.stringify({ type, timestamp, data });
  // oxlint-disable-next-line no-restricted-globals -- the library asks for one
  const at = new Date(now.epochMilliseconds);
  const { opened, problem } = openSecrets(
    secrets,
    endpoint.company_id,
    signingSecrets(endpoint.secrets, now),
  );
  // One that no key opens holds up nothing that another signs: after a key was lost a rotation is enough.
  if (problem && opened.length === 0) return problem;
  const signatures = opened.map((secret) => new Webhook(secret).sign(log.message_id, at, body));
  const headers = {
    "content-type": "application/json",
    "user-agent": "Meterhouse",
    "webhook-id": log.message_id,
    "webhook-timestamp": String(Math.floor(now.epochMilliseconds / 1_000)),
    "webhook-signature": signatures.join(" "),
  };
  return { url: endpoint.url, body, headers };
}

/** Writes down what attempts came to. Returns the logs whose claim was lost: another dispatcher has them. */
async function recordAttempts(
  q: Queries,
  now: Temporal.Instant,
  claimed_by: string,
  ended: readonly FinishedAttempt[],
): Promise<number[]> {
  const ids = ended.map(({ log }) => log.id);
  const claimed = await listClaimed(q, claimed_by, ids);
  for (const one of ended) {
    const status = claimed.get(one.log.id);
    if (status === undefined) continue;
    const { log, endpoint, outcome, ended_at, random } = one;
    const next = afterAttempt(log.step, outcome, ended_at, random, retrySteps(log.payload.data));
    // Given up meanwhile, since its endpoint was disabled: there is no next attempt.
    const is_over = status === "failed" && next.status === "pending";
    const change = is_over ? { ...next, status, next_attempt_at: null } : next;
    await updateClaimed(q, now, log.id, { ...change, url: endpoint.url, attempts: attemptsOf(one) });
  }
  for (const { endpoint, outcome } of ended) {
    if (!isGone(outcome)) continue;
    const was_disabled = await disableEndpoint(q, now, endpoint, "It answered 410 Gone");
    if (!was_disabled) continue;
    await abandonPending(q, endpoint.id, now);
    const call = { now, origin: "job", address: null, request_id: claimed_by } as const;
    await recordSystemChange(call, q, endpoint, "disable_webhook", { type: "webhook", id: endpoint.id });
  }
  return ids.filter((id) => !claimed.has(id));
}

function attemptsOf({ log: { attempts }, began_at, outcome }: FinishedAttempt) {
  const { status_code, duration_ms, response_excerpt, error } = outcome;
  const attempt = {
    no: (attempts.at(-1)?.no ?? 0) + 1,
    at: iso(began_at),
    status_code,
    duration_ms,
    response_excerpt,
    error,
  };
  return [...attempts, attempt].slice(-LIMITS.webhook_attempts_kept);
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}
