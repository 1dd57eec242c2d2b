import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import type { Nothing } from "../../../core/schema.ts";
import type { UsageExportLink } from "../../../usage/export/model.ts";
import type { MetadataKey, UsageEvent } from "../../../usage/search/model.ts";
import type { UsageSeries, UsageValue } from "../../../usage/series/model.ts";
import type { UsageView } from "../../../usage/views/model.ts";
import { find, get, list, post, put, remove } from "../../api/call.ts";

/** The operations of an explorer: a company's, or the same ones of a client user. */
export const COMPANY_CALLS = {
  series: post<typeof UsageSeries>("/usage/series", "UsageSeries"),
  values: find<typeof UsageValue>("/usage/values", "UsageValue"),
  keys: list<typeof MetadataKey>("/usage/metadata-keys", "MetadataKey"),
  events: find<typeof UsageEvent>("/usage/search", "UsageEvent"),
  exports: post<typeof UsageExportLink>("/usage/exports", "UsageExportLink"),
  subscriptions: list<typeof SubscriptionDetail>("/subscriptions", "SubscriptionDetail"),
  subscription: get<typeof SubscriptionDetail>("/subscriptions/:id", "SubscriptionDetail"),
  views: list<typeof UsageView>("/views", "UsageView"),
  view: get<typeof UsageView>("/views/:id", "UsageView"),
  createView: post<typeof UsageView>("/views", "UsageView"),
  updateView: put<typeof UsageView>("/views/:id", "UsageView"),
  deleteView: remove<typeof Nothing>("/views/:id", "Nothing"),
};

export type ExplorerCalls = typeof COMPANY_CALLS;

export const MY_CALLS: ExplorerCalls = {
  series: post<typeof UsageSeries>("/my/usage/series", "UsageSeries"),
  values: find<typeof UsageValue>("/my/usage/values", "UsageValue"),
  keys: list<typeof MetadataKey>("/my/usage/metadata-keys", "MetadataKey"),
  events: find<typeof UsageEvent>("/my/usage/search", "UsageEvent"),
  exports: post<typeof UsageExportLink>("/my/usage/exports", "UsageExportLink"),
  subscriptions: list<typeof SubscriptionDetail>("/my/subscriptions", "SubscriptionDetail"),
  subscription: get<typeof SubscriptionDetail>("/my/subscriptions/:id", "SubscriptionDetail"),
  views: list<typeof UsageView>("/my/views", "UsageView"),
  view: get<typeof UsageView>("/my/views/:id", "UsageView"),
  createView: post<typeof UsageView>("/my/views", "UsageView"),
  updateView: put<typeof UsageView>("/my/views/:id", "UsageView"),
  deleteView: remove<typeof Nothing>("/my/views/:id", "Nothing"),
};

/** Whose usage is explored. */
export type Whose = "company" | "mine";
export const callsOf = (whose: Whose): ExplorerCalls => (whose === "company" ? COMPANY_CALLS : MY_CALLS);
