import type { ZoneTimeline } from "../../core/periods.ts";
import type { ReadTx } from "../../store/store.ts";
import type { Needing } from "./model.ts";

/** What a look for one kind found. */
export interface Looked {
  count: number;
  newest: Needing[];
  /** Where all of them are listed. */
  path: string | null;
}

/** A look for one kind of what needs a person. */
export type Look = (tx: ReadTx, zones: ZoneTimeline) => Promise<Looked>;
