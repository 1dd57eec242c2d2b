import type { Deps } from "../../src/app/deps.ts";
import { call } from "../../src/app/operation.ts";
import type { BillProof } from "../../src/billing/proof/model.ts";
import { proveBills } from "../../src/billing/proof/service.ts";

/** Proves every bill of a deployment. */
export async function proveEveryBill(deps: Deps): Promise<Pick<BillProof, "bills" | "unproved">> {
  const caller = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  const all: Pick<BillProof, "bills" | "unproved"> = { bills: 0, unproved: [] };
  for (let after_id: number | null = 0; after_id !== null; ) {
    const page: BillProof = await call(deps.openContext(caller), proveBills, { after_id });
    all.bills += page.bills;
    all.unproved.push(...page.unproved);
    after_id = page.next_after_id;
  }
  return all;
}
