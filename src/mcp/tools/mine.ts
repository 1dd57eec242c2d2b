import { Type } from "@sinclair/typebox";
import { call } from "../../app/operation.ts";
import { Id, listed, Nothing } from "../../core/schema.ts";
import { decode } from "../../core/validate.ts";
import { CreditBalance } from "../../features/credits/model.ts";
import { getCredits } from "../../features/credits/service.ts";
import {
  CreateForm,
  FormConfig,
  FormStructure,
  FormVerdict,
  ListMyForms,
  UpdateFormBody,
} from "../../features/forms/model.ts";
import {
  createForm,
  deleteForm,
  getForm,
  listMyForms,
  updateForm,
  validateForm,
} from "../../features/forms/service.ts";
import { SubscriptionDetail } from "../../features/subscriptions/detail.ts";
import { getSubscription, listSubscriptions } from "../../features/subscriptions/service.ts";
import { createExportLink } from "../../features/usage/export_links.ts";
import { ExportLink, MetadataKeys } from "../../features/usage/model.ts";
import { listMetadataKeys, searchUsage } from "../../features/usage/service.ts";
import { data, dataOf } from "../../http/answers.ts";
import { page, search, subscription_id } from "../params.ts";
import { tool } from "../tool.ts";
import { said } from "../wire_schema.ts";
import { findRecordsOf, FoundRecords, RECORD_DETAILS, RECORD_OPERATIONS, recordFilter } from "./billing.ts";
import {
  MODEL_DETAILS,
  Overview,
  OVERVIEW_DETAILS,
  OVERVIEW_OPERATIONS,
  overviewOf,
  subscriptionFilter,
} from "./subscriptions.ts";
import { exportInput, keysInput, searchInput, searchOf, UsageAnswer } from "./usage.ts";

// What client users see: their own client's records, by the same operations.

const findSubscriptions = tool({
  name: "billing_find_my_subscriptions",
  title: "Find my subscriptions",
  description:
    "Finds your subscriptions with product and price, or one by id. Then billing_get_my_subscription_overview tells what one costs now.",
  level: "client",
  operations: [listSubscriptions, getSubscription],
  details: MODEL_DETAILS,
  input: subscriptionFilter,
  output: listed(SubscriptionDetail),
  run: async (ctx, { subscription_id: id, page: at = 1, ...filter }) =>
    id === undefined
      ? call(ctx, listSubscriptions, { ...filter, page: at })
      : { data: [await call(ctx, getSubscription, { id })] },
});

const getOverview = tool({
  name: "billing_get_my_subscription_overview",
  title: "Explain my subscription",
  description:
    "Tells all about one of your subscriptions: plan, the running period's charges line by line, this month's credits, scheduled plan changes, last bills. billing_search_my_usage tells where the usage came from.",
  level: "client",
  operations: OVERVIEW_OPERATIONS,
  details: OVERVIEW_DETAILS,
  input: { subscription_id },
  output: dataOf(Overview),
  run: (ctx, { subscription_id: id }) => data(overviewOf(ctx, id)),
});

const findCredits = tool({
  name: "billing_get_my_credits",
  title: "Get my credits",
  description: "Tells how many credits a subscription on a credit plan has used and has left this month.",
  level: "client",
  operations: [getCredits],
  input: { subscription_id },
  output: dataOf(CreditBalance),
  run: (ctx, { subscription_id: id }) => data(call(ctx, getCredits, { id })),
});

const findUsage = tool({
  name: "billing_search_my_usage",
  title: "Search and sum my usage",
  description:
    "Searches your usage events, or sums them: aggregate with group_by (up to two, such as day and metadata:model). For single events leave aggregate out and follow meta.next_cursor. billing_list_my_usage_metadata_keys tells which keys there are.",
  level: "client",
  operations: [searchUsage],
  details: ["min_usage", "max_usage"],
  input: searchInput,
  output: UsageAnswer,
  run: searchOf,
});

const findKeys = tool({
  name: "billing_list_my_usage_metadata_keys",
  title: "List metadata keys of my usage",
  description:
    "Lists the metadata keys of your recent usage events with their most frequent values, for filters and groups of billing_search_my_usage.",
  level: "client",
  operations: [listMetadataKeys],
  input: keysInput,
  output: MetadataKeys,
  run: (ctx, input) => call(ctx, listMetadataKeys, input),
});

const makeLink = tool({
  name: "billing_export_my_usage",
  title: "Link to an export of my usage",
  description:
    "Makes a link to a file of all your usage events that a search finds; it works for 15 minutes and needs no sign-in, so give it to nobody else.",
  level: "client",
  operations: [createExportLink],
  input: exportInput,
  output: dataOf(ExportLink),
  run: (ctx, input) => data(call(ctx, createExportLink, input)),
});

const findRecords = tool({
  name: "billing_find_my_records",
  title: "Find my bills",
  description:
    "Finds your bills, the last written first, by subscription; or one by record_id with its lines.",
  level: "client",
  operations: RECORD_OPERATIONS,
  details: RECORD_DETAILS,
  input: recordFilter,
  output: FoundRecords,
  run: findRecordsOf,
});

const findForms = tool({
  name: "forms_find_my_forms",
  title: "Find my forms",
  description: "Lists your forms, or one by form_id; response_format detailed adds their config.",
  level: "client",
  operations: [listMyForms, getForm],
  details: ["config"],
  input: {
    form_id: Type.Optional(said(Id, "One form; the other filters then do not apply")),
    search,
    is_active: said(ListMyForms.properties.is_active, "Only active, or only inactive ones"),
    ...page,
  },
  output: listed(FormConfig),
  run: async (ctx, { form_id: id, page: at = 1, ...query }) =>
    id === undefined
      ? call(ctx, listMyForms, { ...query, page: at })
      : { data: [await call(ctx, getForm, { id })] },
});

/** Shown by its structure, and taken as it comes: `checkForm` names every problem of it at once. */
const config = Type.Unknown({ "x-schema": FormStructure, "x-says": "What the form asks for" });

const checkConfig = tool({
  name: "forms_validate_my_form",
  title: "Check a form",
  description:
    "Names every problem of a form's config with its place, and keeps nothing. Use it before forms_save_my_form.",
  level: "client",
  operations: [validateForm],
  input: { config },
  output: FormVerdict,
  run: (ctx, input) => call(ctx, validateForm, input),
});

const form = UpdateFormBody.properties;

const saveForm = tool({
  name: "forms_save_my_form",
  title: "Create or replace a form",
  description:
    "Creates a form, or replaces the one that form_id names: name, description and config whole. forms_validate_my_form tells beforehand what is wrong.",
  level: "client",
  operations: [createForm, updateForm],
  takes_request_id: true,
  is_destructive: true,
  input: {
    form_id: Type.Optional(said(Id, "The form to replace; left out, a new one is created")),
    name: said(form.name, "The form's name"),
    description: said(form.description, "What it is for"),
    config: Type.Unknown({
      "x-says": "What the form asks for, of the shape that forms_validate_my_form takes",
    }),
    is_active: said(form.is_active, "Whether it is in use; only with form_id"),
  },
  output: dataOf(FormConfig),
  run: (ctx, { form_id: id, ...input }) =>
    data(
      id === undefined
        ? call(ctx, createForm, decode(CreateForm, input))
        : call(ctx, updateForm, { id, ...input }),
    ),
});

const removeForm = tool({
  name: "forms_delete_my_form",
  title: "Delete a form",
  description: "Deletes one of your forms for good. Ask the person first.",
  level: "client",
  operations: [deleteForm],
  is_destructive: true,
  input: { form_id: said(Id, "The form's id") },
  output: dataOf(Nothing),
  run: (ctx, { form_id: id }) => data(call(ctx, deleteForm, { id })),
});

export const myTools = [
  findSubscriptions,
  getOverview,
  findCredits,
  findUsage,
  findKeys,
  makeLink,
  findRecords,
  findForms,
  checkConfig,
  saveForm,
  removeForm,
];
