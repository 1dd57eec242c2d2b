import type { ReadTx } from "../../store/store.ts";
import { isBillingModelUsed } from "../subscriptions/queries.ts";
import { isUsedByChange } from "./queries.ts";

/** Whether a subscription or a plan change has ever used the model. Decision 0011. */
export async function isModelUsed(tx: ReadTx, id: number): Promise<boolean> {
  return (await isBillingModelUsed(tx, id)) || (await isUsedByChange(tx, id));
}
