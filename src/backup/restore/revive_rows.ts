import { holdAllDebits } from "../../emandate/holds/queries.ts";
import { mandatePaymentTable } from "../../emandate/payments/tables.ts";
import { type ErasedPeople, repeatPersonErasures } from "../../people/queries.ts";
import type { AnyTable } from "../../store/copy_rows.ts";
import { moveDocumentsHere } from "../../loans/documents/queries.ts";
import { isKeyed, lastKey, raiseKey } from "../../store/key_sequences.ts";
import type { Queries } from "../../store/store.ts";
import { type ErasedIds, repeatAllErasures } from "../../usage/erasures/queries.ts";
import { resetLanes } from "../../usage/lanes/reset_lanes.ts";
import { resetLink } from "../../usage/store_link/queries.ts";

/** Records that were made after the point are lost, and their ids must not come again: others may know them. */
const KEYS_AHEAD = 10_000;
/** A payment's id is in the order numbers of its debits, which the bank knows. */
const PAYMENTS_AHEAD = 1_000_000;

/** What the rows of a point become when they are used again. */
export interface Revival {
  readonly tables: readonly AnyTable[];
  /** The number of the last event of the point. */
  readonly last_seq: number;
  /** How many lanes its usage store has; 0: it is none that has lanes. */
  readonly lanes: number;
  /** When the point was taken, for messages. */
  readonly point: string;
  /** Ids of erased events that are beside the points. */
  readonly erased: readonly ErasedIds[];
  /** Erasures of people that are. */
  readonly erased_people: readonly ErasedPeople[];
}

/**
 * Prepares restored rows for use: keys go on higher, debits are held, documents are files of the folder that they were
 * restored to, and the database is a new one that belongs to a usage store with the events up to the point. Decision 0187.
 */
export async function reviveRows(
  q: Queries,
  now: Temporal.Instant,
  { tables, last_seq, lanes, point, erased, erased_people }: Revival,
): Promise<void> {
  for (const table of tables) {
    const own = q.use(table);
    if (!isKeyed(own)) continue;
    const ahead = table === mandatePaymentTable ? PAYMENTS_AHEAD : KEYS_AHEAD;
    await raiseKey(q, own, (await lastKey(q, own)) + ahead);
  }
  await holdAllDebits(q, now, `the restore of the point of ${point}`);
  await moveDocumentsHere(q);
  await repeatAllErasures(q, now, erased);
  await repeatPersonErasures(q, now, erased_people);
  await resetLink(q, now, { database_id: crypto.randomUUID(), last_seq });
  await resetLanes(q, now, { lanes, last_seq });
}
