import { compare, roundMoney } from "../../core/money.ts";
import { NO_DIGEST } from "../../usage_store/digest.ts";
import { netByLine } from "../rating/adjustment.ts";
import type { BillLine } from "../rating/bill_line.ts";
import type { Unmetered } from "../meters/unmetered.ts";
import { countsEvents } from "../records/verify_usage.ts";
import type { Difference } from "../records/model.ts";

/**
 * Where the sum of all lines on record of a period is not what its events and models come to. Lines that are not there
 * are zero: what moves nothing is on no record.
 */
export function periodDifferences(
  expected: readonly BillLine[],
  recorded: readonly BillLine[],
  currency: string,
): Difference[] {
  const wanted = netByLine(expected, currency);
  const found = netByLine(recorded, currency);
  return [...new Set([...wanted.keys(), ...found.keys()])].flatMap((key) => {
    const [want, have] = [wanted.get(key), found.get(key)];
    const line = want ?? have;
    if (!line) return [];
    const charge = line.charge_code === undefined ? "" : `/${line.charge_code}`;
    const path = `/period/${line.kind}/${line.billing_model_id}/${line.from}/${line.to}${charge}`;
    const counts = countsEvents(line);
    const zero = roundMoney("0", currency);
    return [
      ...differing(`${path}/amount`, want?.amount ?? zero, have?.amount ?? zero),
      ...(counts || line.kind === "overage"
        ? differing(`${path}/quantity`, want?.quantity ?? "0", have?.quantity ?? "0")
        : []),
      ...(counts ? differingEvents(path, want, have) : []),
    ];
  });
}

function differing(path: string, expected: string, actual: string): Difference[] {
  return compare(expected, actual) === 0 ? [] : [{ path, expected, actual }];
}

function differingEvents(path: string, want: BillLine | undefined, have: BillLine | undefined): Difference[] {
  const counts = [want, have].map((line) => String(line?.event_count ?? 0));
  const digests = [want, have].map((line) => line?.usage_digest ?? NO_DIGEST);
  return [
    ...differing(`${path}/event_count`, counts[0] ?? "0", counts[1] ?? "0"),
    ...(digests[0] === digests[1]
      ? []
      : [{ path: `${path}/usage_digest`, expected: digests[0] ?? null, actual: digests[1] ?? null }]),
  ];
}

/** Where a period's last record does not say what nothing counted. */
export function unmeteredDifferences(
  { unmetered }: { readonly unmetered?: Unmetered | null },
  expected: Unmetered = NONE,
): Difference[] {
  const { event_count, usage } = unmetered ?? NONE;
  return [
    ...differing("/period/unmetered/event_count", String(expected.event_count), String(event_count)),
    ...differing("/period/unmetered/usage", expected.usage, usage),
  ];
}

const NONE: Unmetered = { event_count: 0, usage: "0" };

/** A generator of whole numbers below `n` that a seed determines: of SHA-256, so that neighbouring seeds differ. */
export function drawing(seed: number): (n: number) => number {
  let turn = 0;
  return (n) => {
    const hash = new Bun.CryptoHasher("sha256").update(`${seed} ${turn++}`).digest();
    return hash.readUIntBE(0, 6) % n;
  };
}

/** The key of a billing period among the records of many subscriptions. */
export function periodKey({
  subscription_id,
  billingStartAt,
}: Pick<{ subscription_id: number; billingStartAt: string }, "subscription_id" | "billingStartAt">): string {
  return `${subscription_id} ${billingStartAt}`;
}
