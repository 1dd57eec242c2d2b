import { Webhook } from "standardwebhooks";
import { type Clock, systemClock } from "../../src/core/time.ts";
import type { Api, Json } from "./harness.ts";

/** A machine's clock that can be put forward: webhooks are signed with the time. */
export class MovingClock implements Clock {
  #ahead = Temporal.Duration.from({ seconds: 0 });
  now(): Temporal.Instant {
    return systemClock.now().add(this.#ahead);
  }
  advance(by: Temporal.DurationLike): void {
    this.#ahead = this.#ahead.add(by);
  }
}

/** One call of a receiver. */
export interface Received {
  headers: Record<string, string>;
  path: string;
  text: string;
  body: Json;
}

/** An endpoint on this machine that notes what it is sent and answers as it is told. */
export interface Receiver {
  url: string;
  received: Received[];
  /** What it answers from now on. */
  answer(how: (call: Received) => Response | Promise<Response>): void;
  /** Waits until it was called so often, and returns the calls. */
  calls(count: number): Promise<Received[]>;
  /** The types of events that it was told of. */
  types(): string[];
  stop(): Promise<void>;
}

export function openReceiver(): Receiver {
  const received: Received[] = [];
  let how: (call: Received) => Response | Promise<Response> = () => new Response("thanks");
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 60,
    async fetch(request) {
      const text = await request.text();
      const { pathname } = new URL(request.url);
      const call = {
        headers: Object.fromEntries(request.headers),
        path: pathname,
        text,
        body: JSON.parse(text),
      };
      received.push(call);
      return how(call);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/hooks`,
    received,
    answer(next) {
      how = next;
    },
    async calls(count) {
      await until(() => received.length >= count, `${count} calls`);
      return received;
    },
    types: () => received.map(({ body }) => body.type),
    stop: () => server.stop(true),
  };
}

/** Waits until something holds. Errors: throws after 10 s, saying what did not. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: string,
  wait_ms = 60_000,
): Promise<void> {
  const give_up = performance.now() + wait_ms;
  while (!(await holds())) {
    if (performance.now() > give_up) throw new Error(`Waited too long for ${what}`);
    await Bun.sleep(20);
  }
}

/** Adds an endpoint; throws unless it was created. */
export async function addWebhook(api: Api, url: string, event_types: string[] = ["*"]): Promise<Json> {
  const { status, body } = await api("POST", "/webhooks", { url, event_types });
  if (status !== 201) throw new Error(`Cannot add a webhook: ${status} ${JSON.stringify(body)}`);
  return body.data;
}

/** Waits until an endpoint's only log, or the one given, has left `pending`, and returns it. */
export async function settled(api: Api, endpoint_id: number): Promise<Json> {
  return logThat(api, endpoint_id, (log) => log.status !== "pending");
}

/** Waits until an endpoint's last log is as expected, and returns it. */
export async function logThat(api: Api, endpoint_id: number, fits: (log: Json) => boolean): Promise<Json> {
  let log: Json;
  await until(async () => {
    [log] = (await api("GET", `/webhook-logs?endpoint_id=${endpoint_id}`)).body.data;
    return log !== undefined && fits(log);
  }, `a log of webhook ${endpoint_id}`);
  return log;
}

/** Whether the public library takes the call as signed with the secret, at the time that its header tells. */
export function isSigned({ headers, text }: Received, secret: string): boolean {
  const timestamp = new Date(Number(headers["webhook-timestamp"]) * 1_000);
  const expected = new Webhook(secret).sign(headers["webhook-id"] ?? "", timestamp, text);
  return (headers["webhook-signature"] ?? "").split(" ").includes(expected);
}
