import { type Static, Type } from "@sinclair/typebox";
import { At, Id, idsUpTo, nullable, oneOf, strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { RECORD_KINDS } from "../rating/record_kinds.ts";

const Amount = Type.String({ description: "a decimal with exactly the currency's digits" });

/** What a client comes to: beside its name in a list. */
export const ClientFigures = Type.Object(
  {
    client_id: Id,
    active_subscriptions: Type.Integer(),
    running: Type.Array(
      Type.Object(
        { currency: Type.String(), amount: Amount, subscriptions: Type.Integer() },
        { title: "ClientRunning" },
      ),
      { description: "what running periods come to so far, by currency, as GET /running-bills has it" },
    ),
    running_as_of: nullable(At),
    last_bill: nullable(
      Type.Object(
        {
          id: Id,
          kind: oneOf(RECORD_KINDS),
          currency: Type.String(),
          totalCharges: Amount,
          billingStartAt: At,
          billingEndAt: At,
          created_at: At,
        },
        { title: "ClientLastBill", description: "the last written, adjustments too" },
      ),
    ),
    usage: Type.Object(
      {
        from: At,
        to: At,
        units: Type.Array(Type.Number(), {
          description: "of each day in the company's time zone, today the last",
        }),
      },
      { title: "ClientUsage" },
    ),
  },
  { title: "ClientFigures" },
);
export type ClientFigures = Static<typeof ClientFigures>;

export const ListClientFigures = strict({
  ids: idsUpTo(LIMITS.client_figures),
});
