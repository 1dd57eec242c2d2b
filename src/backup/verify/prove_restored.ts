import { findUnproved } from "../../billing/proof/find_unproved.ts";
import { drawBills } from "../../billing/proof/queries.ts";
import { drawing } from "../../billing/proof/rules.ts";
import type { Store } from "../../store/store.ts";
import type { ExaminedUsage } from "../../usage_store/examined_usage.ts";
import { LIMITS } from "../limits.ts";
import type { Manifest } from "../manifest.ts";

/** How much is proved. */
export interface ProofOptions {
  /** How many bills, those of `seed`. */
  readonly bills: number;
  readonly seed: number;
  readonly now: Temporal.Instant;
  readonly onProgress?: (text: string) => void;
}

/** What was compared. */
export interface Proved {
  readonly hours: number;
  readonly bills: number;
  readonly bills_unproved: number;
  /** All that differs. */
  readonly problems: readonly string[];
}

/** Compares restored usage and bills with the manifest and with themselves. Errors: those of the stores. */
export async function proveRestored(
  manifest: Manifest,
  { store, usage }: { store: Store; usage: ExaminedUsage },
  { bills: wanted, seed, now, onProgress }: ProofOptions,
): Promise<Proved> {
  onProgress?.("sums by hour");
  const { hours, different } = await usage.check();
  const problems = differingMonths(manifest.digests, await usage.digests());
  if (different > 0)
    problems.push(`Usage: ${different} of ${hours} sums by hour are not those of their events`);
  const bills = await drawBills(store.read, {}, wanted, drawing(seed));
  onProgress?.(`bills: ${bills.length}`);
  const config = { usage_query_timeout_ms: LIMITS.verify_query_ms };
  const unproved = await findUnproved({ store, usage, config, now }, bills);
  for (const bill of unproved) {
    const [first] = bill.differences;
    problems.push(
      `Bill ${bill.billing_record_id} of company ${bill.company_id} is not proved: ${first?.path} should be ${first?.expected}, is ${first?.actual}`,
    );
  }
  return { hours, bills: bills.length, bills_unproved: unproved.length, problems };
}

type Months = Manifest["digests"];

/** The months whose events are not those of the manifest. */
function differingMonths(expected: Months, found: Months): string[] {
  const keyOf = ({ company_id, month }: Months[number]) => `company ${company_id}, ${month}`;
  const textOf = (one: Months[number] | undefined) =>
    one === undefined ? "none" : `${one.events} of ${one.units} units (${one.digest})`;
  const [wanted, there] = [expected, found].map((all) => new Map(all.map((one) => [keyOf(one), one])));
  const keys = new Set([...(wanted?.keys() ?? []), ...(there?.keys() ?? [])]);
  return [...keys].flatMap((key) => {
    const [want, have] = [textOf(wanted?.get(key)), textOf(there?.get(key))];
    return want === have ? [] : [`Usage of ${key}: the manifest says ${want}, there are ${have}`];
  });
}
