import { operation } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { BillProof, ProveBills } from "./model.ts";
import { findUnproved } from "./find_unproved.ts";
import { drawBills, listBillPage } from "./queries.ts";
import { drawing } from "./rules.ts";

/**
 * Proves bills of all companies, or of one, from the stored events: so many at random, or the next page by id.
 * Errors: those of the usage store.
 */
export const proveBills = operation({
  name: "prove_bills",
  permission: "companies:read",
  input: ProveBills,
  output: BillProof,
  async run(ctx, { random, seed = 0, after_id = 0, limit = LIMITS.proof_records, ...filter }) {
    const { read } = ctx.store;
    const bills =
      random === undefined
        ? await listBillPage(read, filter, { after_id, limit })
        : await drawBills(read, filter, random, drawing(seed));
    const is_last = random !== undefined || bills.length < limit;
    return {
      bills: bills.length,
      unproved: await findUnproved(ctx, bills),
      next_after_id: is_last ? null : (bills.at(-1)?.id ?? null),
    };
  },
});
