import type { Context } from "../../app/context.ts";
import { scopeOf } from "../../core/access.ts";
import { compare, type Decimal } from "../../core/money.ts";
import type { Measured } from "../../usage_store/meter.ts";
import type { WatchedTotals } from "../../usage_store/running_totals.ts";
import { LIMITS } from "../limits.ts";

/** How often totals are compared that change meanwhile. */
const ATTEMPTS = 5;

/** Those of the totals that are not what the store measures of their present window; what never rests is passed over. */
export async function compareTotals(
  ctx: Pick<Context, "usage" | "actor" | "now" | "config">,
  totals: readonly WatchedTotals[],
): Promise<WatchedTotals[]> {
  let open = [...new Set(totals)].filter(({ is_certain }) => is_certain);
  let different: WatchedTotals[] = [];
  for (let attempt = 0; attempt < ATTEMPTS && open.length > 0; attempt++) {
    const before = open.map((total) => partsOf(total, ctx.now));
    const measured = await measure(ctx, open);
    const rested = open.map((total, i) => isSame(before[i], partsOf(total, ctx.now)));
    const wrong = open.filter((_, i) => !isSame(before[i], measured[i]));
    different = wrong.filter((total) => rested[open.indexOf(total)]);
    // What changed meanwhile is compared once more, and so is what seems wrong: an event may just have come.
    open = wrong;
  }
  return different;
}

type Parts = ReadonlyMap<string, Decimal>;

function partsOf(totals: WatchedTotals, now: Temporal.Instant): Parts {
  const ms = now.epochMilliseconds;
  if (totals.watch.per === null) return new Map([["", totals.at(ms).quantity]]);
  return new Map(totals.groupsAt(ms).map(({ group, quantity }) => [JSON.stringify(group), quantity]));
}

async function measure(
  { usage, actor, now, config }: Pick<Context, "usage" | "actor" | "now" | "config">,
  totals: readonly WatchedTotals[],
): Promise<Parts[]> {
  const windows = totals.map(({ watch }, use) => {
    const { start_ms, end_ms, whole_ms } = watch.calendar.at(now.epochMilliseconds);
    const { subscription_id, since_ms } = watch;
    const from_ms = Math.max(start_ms, since_ms);
    return { subscription_id, start_ms: from_ms, end_ms, use, since_ms, whole_ms };
  });
  const measured = await usage.measure(
    {
      company_id: scopeOf(actor).company_id,
      uses: totals.map(({ watch: { meter, per } }) => ({
        meter,
        parts: per === null ? { matches: [] } : { keys: [per] },
      })),
      windows,
      max_parts: LIMITS.compared_parts,
    },
    config.usage_query_timeout_ms,
  );
  return measured.map((parts) => new Map(parts.map((part) => [keyOf(part), part.quantity])));
}

function keyOf({ part }: Measured): string {
  return typeof part === "number" ? "" : JSON.stringify(part[0] ?? null);
}

/** Parts without events may be left out, or be 0. */
function isSame(a: Parts = new Map(), b: Parts = new Map()): boolean {
  return [...new Set([...a.keys(), ...b.keys()])].every(
    (key) => compare(a.get(key) ?? "0", b.get(key) ?? "0") === 0,
  );
}
