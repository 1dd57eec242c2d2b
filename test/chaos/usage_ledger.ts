import { type Dice, pick } from "../support/dice.ts";
import type { Answer } from "../support/harness.ts";
import { expectEqual } from "./expect_equal.ts";
import type { World } from "./world.ts";

/** An event as it is sent. Its usage is whole, so that sums in JSON are exact. */
export interface SentEvent {
  id: string;
  external_subscription_id: string;
  timestamp: number;
  usage: number;
  metadata: { user: string };
}

/** Events that were sent together, and whether that was answered. */
export interface Batch {
  events: SentEvent[];
  answered: boolean;
}

const DAY_MS = 86_400_000;
export const USERS = 20;
export const userOf = (n: number) => `u-${n}`;

/** Everything that was sent to the usage store, by whatever way, and what must be stored of it. */
export class UsageLedger {
  readonly #world: World;
  /** Batches since the last check: these may be there or not, where they were not answered. */
  #open: Batch[] = [];
  readonly #sums = new Map<string, { count: number; usage: number }>();
  readonly ids: string[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Events of the last 60 days. */
  makeBatch(roll: Dice, size: number): Batch {
    const now = Date.now();
    const events = Array.from({ length: size }, () => ({
      id: crypto.randomUUID(),
      external_subscription_id: pick(roll, this.#world.keys),
      timestamp: now - roll(60 * DAY_MS) - 1_000,
      usage: roll(500),
      metadata: { user: userOf(roll(USERS)) },
    }));
    const batch = { events, answered: false };
    this.#open.push(batch);
    return batch;
  }

  /** Sends what was sent since the last check once more, and compares the store with all that was ever sent. */
  async settle(): Promise<void> {
    for (const { events, answered } of this.#open.splice(0)) {
      const { status, body } = await this.#post(events);
      expectEqual(status, 201, "the status of usage that is sent again");
      const { accepted, duplicates } = body.data;
      expectEqual(accepted + duplicates, events.length, "events that are sent again");
      if (answered) expectEqual(accepted, 0, "answered events that were not stored");
      for (const event of events) this.#add(event);
    }
    const { body } = await this.#world.api("POST", "/usage/search", {
      aggregate: true,
      group_by: "subscription",
    });
    const stored = new Map<string, { count: number; usage: number }>();
    for (const { group_key, event_count, total_usage } of body.data) {
      stored.set(String(group_key).replace(/^\d+:/, ""), { count: event_count, usage: total_usage });
    }
    for (const [key, sums] of this.#sums) expectEqual(stored.get(key), sums, `what is stored of ${key}`);
    expectEqual(stored.size, this.#sums.size, "subscriptions with usage");
  }

  #post(events: readonly SentEvent[]): Promise<Answer> {
    const lines = events.map((event) => JSON.stringify(event)).join("\n");
    return this.#world.api("POST", "/usage/events", lines, { "content-type": "application/x-ndjson" });
  }

  #add({ id, external_subscription_id, usage }: SentEvent): void {
    const sums = this.#sums.get(external_subscription_id) ?? { count: 0, usage: 0 };
    this.#sums.set(external_subscription_id, { count: sums.count + 1, usage: sums.usage + usage });
    this.ids.push(id);
  }
}
