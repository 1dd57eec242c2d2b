import { type Static, Type } from "@sinclair/typebox";
import { DecimalInput, DecimalText } from "../../billing/decimals.ts";
import { At, Id, nullable, strict } from "../../core/schema.ts";

const Limit = Type.Object(
  {
    amount: {
      ...DecimalText,
      description: "of the running charges of a billing period, in the subscription's currency",
    },
    hard: Type.Boolean({ description: "whether checks refuse once it is reached, or only tell" }),
  },
  { title: "SpendLimitAmount" },
);

/** The most that a subscription may come to in a billing period: the company's limit, and the client's own. */
export const SpendLimit = Type.Object(
  {
    subscription_id: Id,
    currency: Type.String(),
    company: nullable(Limit),
    client: nullable(Limit),
    spent: nullable({ ...DecimalText, description: "the running charges; null until they are known" }),
    as_of: nullable({ ...At, description: "when they were rated" }),
  },
  { title: "SpendLimit" },
);
export type SpendLimit = Static<typeof SpendLimit>;

export const SetSpendLimit = strict(
  { id: Id, amount: DecimalInput, hard: Type.Optional(Type.Boolean()) },
  { title: "SetSpendLimit", examples: [{ amount: "500", hard: true }] },
);
