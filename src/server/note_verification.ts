import { findVerification, saveVerification } from "../backup/verify/queries.ts";
import { readVerification, type Verification } from "../backup/verify/report.ts";
import type { Store } from "../store/store.ts";

/**
 * What the last verification found, by any instance. One that was made in this data directory, by a command too, is written
 * to the records here, where all instances read it.
 */
export async function noteVerification(store: Store, data_dir: string): Promise<Verification | undefined> {
  const [found, known] = [readVerification(data_dir), await findVerification(store.read)];
  if (found === undefined) return known;
  if (known !== undefined && Temporal.Instant.compare(found.verified_at, known.verified_at) <= 0)
    return known;
  await store.tx((q) => saveVerification(q, found));
  return findVerification(store.read);
}
