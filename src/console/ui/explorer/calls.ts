import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { UsageExportLink } from "../../../usage/export/model.ts";
import type { MetadataKey, UsageEvent } from "../../../usage/search/model.ts";
import type { UsageSeries, UsageValue } from "../../../usage/series/model.ts";
import type { UsageView } from "../../../usage/views/model.ts";
import { below, find, get, list, post, put, remove } from "../../api/call.ts";

/** The operations of an explorer: a company's, or the same ones of a client user. */
export const COMPANY_CALLS = {
  series: post<typeof UsageSeries>("/usage/series"),
  values: find<typeof UsageValue>("/usage/values"),
  keys: list<typeof MetadataKey>("/usage/metadata-keys"),
  events: find<typeof UsageEvent>("/usage/search"),
  exports: post<typeof UsageExportLink>("/usage/exports"),
  subscriptions: list<typeof SubscriptionDetail>("/subscriptions"),
  subscription: get<typeof SubscriptionDetail>("/subscriptions/:id"),
  views: list<typeof UsageView>("/views"),
  view: get<typeof UsageView>("/views/:id"),
  createView: post<typeof UsageView>("/views"),
  updateView: put<typeof UsageView>("/views/:id"),
  deleteView: remove<typeof Nothing>("/views/:id"),
};

export type ExplorerCalls = typeof COMPANY_CALLS;

export const MY_CALLS = below("/my", COMPANY_CALLS);

/** Whose usage is explored. */
export type Whose = "company" | "mine";
export const callsOf = (whose: Whose): ExplorerCalls => (whose === "company" ? COMPANY_CALLS : MY_CALLS);
