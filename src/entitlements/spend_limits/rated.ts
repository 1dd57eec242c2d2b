import type { Context } from "../../app/context.ts";
import { readTx } from "../../app/transaction.ts";
import { chunks, interleave, nextTurn } from "../../core/chunk.ts";
import type { ReadTx } from "../../store/store.ts";
import { listAllAlerts } from "../alerts/queries.ts";
import { listSubscriptionsIn } from "../alerts/scope_queries.ts";
import { LIMITS } from "../limits.ts";
import { listSpendLimited } from "./queries.ts";
import { spendKey, spendWatch } from "./watch.ts";

/**
 * Lists anew whose running charges are rated: subscriptions with a spend limit, and those of alerts on charges. Of those
 * that come to it usage is heard of from now on, and those that were rated so far and are not among them are forgotten.
 */
export async function listRated(ctx: Context): Promise<void> {
  const { limits, now } = ctx;
  const tx = readTx(ctx);
  const { company_id } = tx.scope;
  const spending = limits.spendingOf(company_id);
  const listing = spending.beginList(now.epochMilliseconds);
  try {
    for await (const page of ratedPages(tx)) {
      for await (const part of interleave(page, LIMITS.spend_watch)) {
        const added = spending.list(part, listing);
        limits.totalsOf(added.map((id) => spendWatch(company_id, id, now)));
      }
    }
  } catch (error) {
    spending.forgetList();
    throw error;
  }
  const dropped = spending.endList(listing);
  for (const part of chunks(dropped, LIMITS.spend_watch)) {
    limits.forget(part.map((id) => spendKey(company_id, id)));
    await nextTurn();
  }
}

/** Their ids, in pages; one may be on several. */
async function* ratedPages(tx: ReadTx): AsyncGenerator<number[]> {
  yield* pages((slice) => listSpendLimited(tx, slice));
  const alerts = (await listAllAlerts(tx)).filter(({ on }) => on === "spend" || on === "forecast");
  if (alerts.length === 0) return;
  const scopes = alerts.map(({ scope }) => scope);
  yield* pages((slice) => listSubscriptionsIn(tx, scopes, slice));
}

/** All that a query finds by pages of ascending ids. */
async function* pages(
  read: (slice: { after_id: number; limit: number }) => Promise<number[]>,
): AsyncGenerator<number[]> {
  const limit = LIMITS.spend_list;
  for (let after_id: number | undefined = 0; after_id !== undefined; ) {
    const page: number[] = await read({ after_id, limit });
    yield page;
    after_id = page.length < limit ? undefined : page.at(-1);
  }
}
