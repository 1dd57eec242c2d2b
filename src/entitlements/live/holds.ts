import type { Hold, HeldScope } from "../../app/live_limits.ts";
import { type Decimal, toBig } from "../../core/money.ts";

/** The holds of a process: by their id, and by what they hold. */
export class Holds {
  readonly #companies = new Map<number, Map<string, Hold>>();
  readonly #features = new Map<string, HeldUnits>();

  find(company_id: number, reservation_id: string): Hold | undefined {
    return this.#companies.get(company_id)?.get(reservation_id);
  }

  count(company_id: number): number {
    return this.#companies.get(company_id)?.size ?? 0;
  }

  heldAt(now_ms: number, { per, ...feature }: HeldScope): Decimal {
    return this.#features.get(keyOf(feature))?.at(now_ms, per) ?? "0";
  }

  add(hold: Hold): void {
    const of_company = this.#companies.get(hold.company_id) ?? new Map<string, Hold>();
    this.#companies.set(hold.company_id, of_company.set(hold.reservation_id, hold));
    const of_feature = this.#features.get(keyOf(hold)) ?? new HeldUnits();
    this.#features.set(keyOf(hold), of_feature);
    of_feature.add(hold);
  }

  /** Removes the holds of the companies that `isOf` names. */
  drop(isOf: (company_id: number) => boolean): void {
    for (const [company_id, holds] of this.#companies)
      if (isOf(company_id))
        for (const reservation_id of holds.keys()) this.remove(company_id, reservation_id);
  }

  removeEnded(company_id: number, now_ms: number): void {
    for (const [reservation_id, { expires_ms }] of this.#companies.get(company_id) ?? [])
      if (expires_ms <= now_ms) this.remove(company_id, reservation_id);
  }

  /** Removes a hold, and returns it. */
  remove(company_id: number, reservation_id: string): Hold | undefined {
    const of_company = this.#companies.get(company_id);
    const hold = of_company?.get(reservation_id);
    if (of_company === undefined || hold === undefined) return undefined;
    of_company.delete(reservation_id);
    if (of_company.size === 0) this.#companies.delete(company_id);
    const of_feature = this.#features.get(keyOf(hold));
    of_feature?.remove(hold);
    if (of_feature?.size === 0) this.#features.delete(keyOf(hold));
    return hold;
  }
}

/**
 * What is held of a feature, added up as holds come and go: a check costs the same however many there are. Units are in
 * millionths.
 */
class HeldUnits {
  size = 0;
  #units = 0n;
  readonly #groups = new Map<string, bigint>();
  /** Those that have not ended, by the second in which they do. */
  readonly #ends = new Map<number, Set<Hold>>();
  /** None ends before this second. */
  #next_s = Number.POSITIVE_INFINITY;

  add(hold: Hold): void {
    this.size++;
    const end_s = secondOf(hold.expires_ms);
    this.#ends.set(end_s, (this.#ends.get(end_s) ?? new Set<Hold>()).add(hold));
    this.#next_s = Math.min(this.#next_s, end_s);
    this.#change(hold, 1n);
  }

  remove(hold: Hold): void {
    this.size--;
    this.#end(hold);
  }

  at(now_ms: number, per: HeldScope["per"]): Decimal {
    this.#endUntil(now_ms);
    const held = per === null ? this.#units : (this.#groups.get(groupOf(per.key, per.value)) ?? 0n);
    return toBig(String(held)).times("0.000001").toFixed();
  }

  #endUntil(now_ms: number): void {
    if (this.#ends.size === 0) return;
    const now_s = secondOf(now_ms);
    // After a pause there are more seconds than ends: these are looked through instead.
    if (now_s - this.#next_s > this.#ends.size) {
      for (const [end_s, holds] of this.#ends) if (end_s < now_s) for (const hold of holds) this.#end(hold);
      if (this.#ends.size === 0) return;
      this.#next_s = now_s;
    }
    for (; this.#next_s <= now_s; this.#next_s++) {
      for (const hold of this.#ends.get(this.#next_s) ?? []) if (hold.expires_ms <= now_ms) this.#end(hold);
      // Others end later in this second.
      if (this.#next_s === now_s) return;
    }
  }

  /** Once for each: one that has ended is removed later. */
  #end(hold: Hold): void {
    const end_s = secondOf(hold.expires_ms);
    const ending = this.#ends.get(end_s);
    if (!ending?.delete(hold)) return;
    if (ending.size === 0) this.#ends.delete(end_s);
    if (this.#ends.size === 0) this.#next_s = Number.POSITIVE_INFINITY;
    this.#change(hold, -1n);
  }

  #change({ units, group }: Hold, sign: bigint): void {
    const change = sign * BigInt(toBig(units).times("1000000").toFixed(0));
    this.#units += change;
    for (const [key, value] of Object.entries(group)) {
      const name = groupOf(key, value);
      const held = (this.#groups.get(name) ?? 0n) + change;
      if (held === 0n) this.#groups.delete(name);
      else this.#groups.set(name, held);
    }
  }
}

const secondOf = (ms: number) => Math.floor(ms / 1_000);

const groupOf = (key: string, value: string) => JSON.stringify([key, value]);

function keyOf({ subscription_id, feature_id }: Pick<Hold, "subscription_id" | "feature_id">): string {
  return `${subscription_id} ${feature_id}`;
}
