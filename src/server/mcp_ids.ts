import { call } from "../app/operation.ts";
import { scopeOf } from "../core/access.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { listMandates } from "../emandate/mandates/service.ts";
import { LIMITS as EMANDATE_LIMITS } from "../emandate/limits.ts";
import { listAgentApplications } from "../loans/applications/service.ts";
import { listSubscriptions } from "../billing/subscriptions/service.ts";
import type { IdFinders } from "../mcp/ids.ts";
import { externalIdOf } from "../usage/subscription_key.ts";

/** Pages of a search in which a record is looked for by its whole text. */
const PAGES = 10;

/** The id of the one record of a search that a test accepts. */
async function findExact<R extends { id: number }>(
  search: (page: number) => Promise<{ data: readonly R[]; meta?: { total_pages: number } | undefined }>,
  isIt: (record: R) => boolean,
): Promise<number | undefined> {
  for (let page = 1; page <= PAGES; page++) {
    const { data, meta } = await search(page);
    const found = data.find(isIt);
    if (found !== undefined) return found.id;
    if (page >= (meta?.total_pages ?? 1)) return undefined;
  }
  return undefined;
}

/** Records by what people and answers call them. */
export const ID_FINDERS: IdFinders = {
  /** The company's own id for it, alone or as usage events have it. */
  subscription_id(ctx, text) {
    const external = externalIdOf(scopeOf(ctx.actor).company_id, text) ?? text;
    const limit = SHARED_LIMITS.page_limit;
    return findExact(
      (page) => call(ctx, listSubscriptions, { search: external, page, limit }),
      ({ external_subscription_id }) => external_subscription_id === external,
    );
  },
  mandate_id(ctx, text) {
    const limit = EMANDATE_LIMITS.emandate_page_limit;
    return findExact(
      (page) => call(ctx, listMandates, { search: text, page, limit }),
      ({ reference }) => reference === text,
    );
  },
  /** Order numbers of debits have the payment's id in them. */
  async payment_id(_, text) {
    const [, id] = /^D([1-9]\d{0,14})-\d{1,6}$/.exec(text) ?? [];
    return id === undefined ? undefined : Number(id);
  },
  application_id(ctx, text) {
    const limit = SHARED_LIMITS.page_limit;
    return findExact(
      (page) => call(ctx, listAgentApplications, { search: text, page, limit }),
      ({ reference, external_reference }) => reference === text || external_reference === text,
    );
  },
};
