import type { AppendResult, NewEvent, UsageStore, UsageWindow } from "../../src/usage_store/port.ts";
import { type ModelEvent, windowTotal } from "../usage_store/reference_model.ts";

/** An event of the model, and its number in the order of commits. */
export interface SimEvent extends ModelEvent {
  created_at: number;
  seq: number;
}

/** A usage store that is the reference model: what bills need of one, and nothing else. */
export class ModelUsage {
  readonly #events = new Map<number, SimEvent[]>();
  readonly #ids = new Set<string>();
  #seq = 0;

  /** The events of a subscription in the order of commits. */
  of(subscription_id: number): readonly SimEvent[] {
    return this.#events.get(subscription_id) ?? [];
  }

  get last_seq(): number {
    return this.#seq;
  }

  append(events: readonly NewEvent[], now_ms: number): AppendResult {
    let accepted = 0;
    for (const event of events) {
      if (this.#ids.has(event.id)) continue;
      this.#ids.add(event.id);
      accepted += 1;
      const millionths = BigInt(Math.round(Number(event.usage) * 1e6));
      const stored = { ...event, object: null, millionths, created_at: now_ms, seq: ++this.#seq };
      this.#events.set(event.subscription_id, [...this.of(event.subscription_id), stored]);
    }
    return { accepted, duplicates: events.length - accepted };
  }

  /** The port over it, as far as bills need it. */
  get port(): Pick<UsageStore, "append" | "lastSeq" | "totals" | "haveLateEvents" | "sums"> {
    const inside = ({ subscription_id, start_ms, end_ms }: UsageWindow) =>
      this.of(subscription_id).filter(({ timestamp }) => timestamp >= start_ms && timestamp < end_ms);
    return {
      append: async (_, events, now_ms) => this.append(events, now_ms),
      lastSeq: async () => this.#seq,
      totals: async (_, windows, { created_until_ms, last_seq = Number.POSITIVE_INFINITY }) =>
        windows.map((window) =>
          windowTotal(
            inside(window).filter(({ seq }) => seq <= last_seq),
            window,
            created_until_ms,
          ),
        ),
      haveLateEvents: async (_, windows) =>
        windows.map((window) =>
          inside(window).some(
            ({ seq, created_at }) => seq > window.last_seq || created_at >= window.created_until_ms,
          ),
        ),
      sums: async (_, windows) => windows.map((window) => windowTotal(inside(window), window)),
    };
  }
}
