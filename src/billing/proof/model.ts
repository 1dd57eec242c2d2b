import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable, strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { Difference } from "../records/model.ts";

/** Which bills to prove: so many at random, or a page by id. Without a company those of all. */
export const ProveBills = strict({
  random: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LIMITS.proof_records, description: "so many bills at random" }),
  ),
  seed: Type.Optional(
    Type.Integer({ minimum: 0, description: "the same bills for the same seed; of those at random" }),
  ),
  after_id: Type.Optional(Type.Integer({ minimum: 0, description: "the last id of the page before" })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMITS.proof_records })),
  company_id: Type.Optional(Id),
  /** Only bills of periods that ended by then. */
  ended_by: Type.Optional(At),
});
export type ProveBills = Static<typeof ProveBills>;

/** A bill that its events and prices do not lead to. */
const UnprovedBill = Type.Object({
  company_id: Id,
  billing_record_id: Id,
  subscription_id: Id,
  differences: Type.Array(Difference),
});
export type UnprovedBill = Static<typeof UnprovedBill>;

export const BillProof = Type.Object({
  /** How many bills were rated anew, those with differences included. */
  bills: Type.Integer(),
  unproved: Type.Array(UnprovedBill),
  /** Where the next page begins; null after the last one, and of bills at random. */
  next_after_id: nullable(Id),
});
export type BillProof = Static<typeof BillProof>;
