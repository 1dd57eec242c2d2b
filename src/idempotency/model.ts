import type { StoredResponse } from "../app/claim.ts";

/** `in_progress`: claimed; `committed`: the change is stored; `answered`: so is the response. */
export const KEY_STATES = ["in_progress", "committed", "answered"] as const;

/** A key that a repeat has found. */
export interface FoundKey {
  state: (typeof KEY_STATES)[number];
  digest: string;
  lease_until: string;
  target_type: string | null;
  target_id: number | null;
  response: StoredResponse | null;
}
