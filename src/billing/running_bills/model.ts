import { Type } from "@sinclair/typebox";
import { At, Id, nullable, oneOf, pageFields, strict } from "../../core/schema.ts";

export const RUNNING_GROUPS = ["client", "product", "subscription"] as const;
export type RunningGroup = (typeof RUNNING_GROUPS)[number];

export const ListRunningBills = strict({
  group_by: Type.Optional(oneOf(RUNNING_GROUPS, "client unless given")),
  ...pageFields,
});

const Amount = Type.String({ description: "a decimal with exactly the currency's digits" });

const Sums = {
  currency: Type.String(),
  amount: { ...Amount, description: "whole fees, and the usage so far" },
  subscriptions: Type.Integer({ description: "how many it is the sum of" }),
};

/** What running periods come to, by group. Decision 0274. */
export const RunningBills = Type.Object(
  {
    as_of: nullable({
      ...At,
      description:
        "all of it was rated then or later, or had no usage since; null where nothing was rated yet",
    }),
    pending: Type.Integer({
      description:
        "subscriptions that run and are not in it: not rated in their period yet, or they can't be",
    }),
    totals: Type.Array(Type.Object(Sums, { title: "RunningBillTotal" }), { description: "by currency" }),
    groups: Type.Integer({ description: "how many there are; rows are a page of them" }),
    rows: Type.Array(Type.Object({ id: Id, name: Type.String(), ...Sums }, { title: "RunningBillRow" }), {
      description: "by currency, the largest amount first",
    }),
  },
  { title: "RunningBills" },
);
