import { type Static, Type } from "@sinclair/typebox";
import { At, Id, Name, nullable, oneOf, pageFields, Search, sortedBy, strict } from "../../core/schema.ts";
import { SeriesQuestion } from "../series/model.ts";

/** The form of the questions that are saved; a later one would have another number. */
export const QUESTION_VERSION = 1;

/** How a series is drawn. `share`: each group's part of a bucket. */
export const CHARTS = ["line", "bar", "stacked", "share", "table"] as const;

/** A question for a series, saved under a name. */
export const UsageView = Type.Object(
  {
    id: Id,
    name: Type.String(),
    shared: Type.Boolean({ description: "whether all company users see it, not its own user alone" }),
    user_id: Type.Integer({ description: "who saved it" }),
    version: Type.Integer({ description: "the form of the question" }),
    question: SeriesQuestion,
    chart: nullable(
      oneOf(CHARTS, `one of ${CHARTS.join(", ")}: how the console draws it; null: as suits the question`),
    ),
    created_at: At,
    updated_at: At,
  },
  { title: "UsageView" },
);
export type UsageView = Static<typeof UsageView>;

const viewFields = {
  name: Name,
  shared: Type.Optional(Type.Boolean()),
  version: Type.Optional(
    Type.Literal(QUESTION_VERSION, { description: `${QUESTION_VERSION}, the form of the question` }),
  ),
  question: SeriesQuestion,
  chart: Type.Optional(nullable(oneOf(CHARTS))),
};

export const CreateView = strict(viewFields, {
  title: "CreateUsageView",
  examples: [
    {
      name: "Tokens by model, beside last month",
      shared: true,
      question: { range: { relative: "this_month" }, group_by: "metadata:model", compare: { to: "before" } },
    },
  ],
});

export const UpdateView = strict(
  { id: Id, ...viewFields },
  {
    title: "UpdateUsageView",
    examples: [
      {
        name: "Tokens by model and client",
        shared: true,
        question: { range: { relative: "this_month" }, group_by: ["metadata:model", "client"] },
      },
    ],
  },
);

export const ListViews = strict({
  shared: Type.Optional(Type.Boolean()),
  search: Type.Optional(Search),
  sort: sortedBy(["id", "name", "created_at"]),
  ...pageFields,
});
