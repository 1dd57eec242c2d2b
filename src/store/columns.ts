import type { ColumnKit } from "./columns.postgres.ts";
import { type IsoInstant, iso } from "../core/time.ts";

export type { ColumnKit } from "./columns.postgres.ts";

/** The two stamps of every record; queries set updated_at from the call's `now`. */
export function stamps(k: ColumnKit) {
  return { created_at: k.at("created_at").notNull(), updated_at: k.at("updated_at").notNull() };
}

/** The stamps of a record written now. */
export function stamped(now: Temporal.Instant): { created_at: IsoInstant; updated_at: IsoInstant } {
  return { created_at: iso(now), updated_at: iso(now) };
}
