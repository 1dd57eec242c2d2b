import type { Hold, HeldScope } from "../../app/live_limits.ts";
import { type Decimal, sum } from "../../core/money.ts";

/** The holds of a process: by their id, and by what they hold. */
export class Holds {
  readonly #companies = new Map<number, Map<string, Hold>>();
  readonly #features = new Map<string, Set<Hold>>();

  find(company_id: number, reservation_id: string): Hold | undefined {
    return this.#companies.get(company_id)?.get(reservation_id);
  }

  count(company_id: number): number {
    return this.#companies.get(company_id)?.size ?? 0;
  }

  heldAt(now_ms: number, { per, ...feature }: HeldScope): Decimal {
    const units: Decimal[] = [];
    for (const hold of this.#features.get(keyOf(feature)) ?? [])
      if (hold.expires_ms > now_ms && (per === null || hold.group[per.key] === per.value))
        units.push(hold.units);
    return sum(units);
  }

  add(hold: Hold): void {
    const of_company = this.#companies.get(hold.company_id) ?? new Map<string, Hold>();
    this.#companies.set(hold.company_id, of_company.set(hold.reservation_id, hold));
    const of_feature = this.#features.get(keyOf(hold)) ?? new Set<Hold>();
    this.#features.set(keyOf(hold), of_feature.add(hold));
  }

  /** Removes a hold, and returns it. */
  remove(company_id: number, reservation_id: string): Hold | undefined {
    const of_company = this.#companies.get(company_id);
    const hold = of_company?.get(reservation_id);
    if (of_company === undefined || hold === undefined) return undefined;
    of_company.delete(reservation_id);
    if (of_company.size === 0) this.#companies.delete(company_id);
    const of_feature = this.#features.get(keyOf(hold));
    of_feature?.delete(hold);
    if (of_feature?.size === 0) this.#features.delete(keyOf(hold));
    return hold;
  }
}

function keyOf({ subscription_id, feature_id }: Pick<Hold, "subscription_id" | "feature_id">): string {
  return `${subscription_id} ${feature_id}`;
}
