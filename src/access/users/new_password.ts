import type { Tx } from "../../store/store.ts";
import { endAuthorizationsOf } from "../authorizations/queries.ts";
import { deleteLinkOf } from "../user_links/queries.ts";

/** Ends what a new password ends beside tokens and sessions: authorizations, and a link to choose another. */
export async function endOtherWaysIn(tx: Tx, user_id: number): Promise<void> {
  await endAuthorizationsOf(tx, user_id);
  await deleteLinkOf(tx, user_id);
}
