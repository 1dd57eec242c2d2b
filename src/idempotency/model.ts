import type { StoredResponse } from "../app/claim.ts";

/** `in_progress`: claimed; `committed`: its change is on record; `answered`: and so is its answer. */
export const KEY_STATES = ["in_progress", "committed", "answered"] as const;

/** A key as it was found when a repeat came. */
export interface FoundKey {
  state: (typeof KEY_STATES)[number];
  digest: string;
  lease_until: string;
  target_type: string | null;
  target_id: number | null;
  response: StoredResponse | null;
}
