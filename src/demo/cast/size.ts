import { CLIENTS } from "./clients.ts";

/** How large a demo is. */
export interface DemoSize {
  /** So many clients of the cast, the oldest first. */
  clients: number;
  /** Usage events, about. */
  events: number;
}

export const WHOLE: DemoSize = { clients: CLIENTS.length, events: 2_000_000 };
