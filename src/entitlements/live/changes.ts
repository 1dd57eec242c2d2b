import type { Changes, Headrooms } from "../../app/live_limits.ts";
import { LIMITS } from "../limits.ts";

/** What is to be looked at of a company. */
interface CompanyChanges {
  readonly changed: Set<number>;
  headrooms: Headrooms;
  /** Looking at all goes on after this id; null: it is over. */
  after_id: number | null;
  /** When it was begun last. */
  began_ms: number;
  /** Whether it is to begin anew. */
  is_asked: boolean;
  /** What it was told on a day, by its number since 1970. */
  told: { day: number; firings: number };
}

const DAY_MS = 86_400_000;

/** The changes that a process has heard of, and what it has told; after a start everything is to be looked at. */
export class ChangedSubscriptions implements Changes {
  readonly #companies = new Map<number, CompanyChanges>();
  /** By scale and group. */
  readonly #told = new Map<string, Map<string | null, number>>();
  #told_count = 0;

  note(company_id: number, subscription_id: number): void {
    this.#of(company_id).changed.add(subscription_id);
  }

  noteAll(company_id: number): void {
    this.#of(company_id).is_asked = true;
    this.forgetHeadroom(company_id);
  }

  /** Forgets what it knows of the companies that `isOf` names: all of theirs is to be looked at. */
  forget(isOf: (company_id: number) => boolean): void {
    for (const company_id of this.#companies.keys()) if (isOf(company_id)) this.#companies.delete(company_id);
  }

  withoutHeadroom(company_id: number, ids: readonly number[], now_ms: number): number[] {
    const { headrooms } = this.#of(company_id);
    return ids.filter((id) => headrooms.get(id)?.isLeft(now_ms) !== true);
  }

  headroomsOf(company_id: number): Headrooms {
    return this.#of(company_id).headrooms;
  }

  forgetHeadroom(company_id: number): void {
    // What is being read of records as they were goes into the old one.
    const known = this.#companies.get(company_id);
    if (known !== undefined) known.headrooms = new Map();
  }

  take(company_id: number, count: number): number[] {
    const { changed } = this.#of(company_id);
    const ids = changed.values().take(count).toArray();
    for (const id of ids) changed.delete(id);
    return ids;
  }

  sweepAfter(company_id: number, now_ms: number): number | undefined {
    const company = this.#of(company_id);
    // A clock that was set back makes nothing wait.
    const is_old = Math.abs(now_ms - company.began_ms) >= LIMITS.alert_sweep_ms;
    if (company.is_asked || (company.after_id === null && is_old)) {
      company.is_asked = false;
      company.began_ms = now_ms;
      company.after_id = 0;
    }
    return company.after_id ?? undefined;
  }

  swept(company_id: number, after_id: number | null): void {
    this.#of(company_id).after_id = after_id;
  }

  stepsTold(scale: string, group: string | null): number {
    return this.#told.get(scale)?.get(group) ?? 0;
  }

  noteTold(scale: string, group: string | null, steps: number): void {
    // What is forgotten is written again, and found told.
    if (this.#told_count >= LIMITS.alerts_told) {
      this.#told.clear();
      this.#told_count = 0;
    }
    const groups = this.#told.get(scale) ?? new Map<string | null, number>();
    this.#told.set(scale, groups);
    if (!groups.has(group)) this.#told_count++;
    groups.set(group, steps);
  }

  groupsTold(scale: string): number {
    return this.#told.get(scale)?.size ?? 0;
  }

  leftToTell(company_id: number, now_ms: number): number {
    const { day, firings } = this.#of(company_id).told;
    return LIMITS.alert_firings_day - (day === Math.floor(now_ms / DAY_MS) ? firings : 0);
  }

  countTold(company_id: number, now_ms: number, firings: number): void {
    const company = this.#of(company_id);
    const day = Math.floor(now_ms / DAY_MS);
    company.told = { day, firings: firings + (company.told.day === day ? company.told.firings : 0) };
  }

  #of(company_id: number): CompanyChanges {
    const known = this.#companies.get(company_id);
    if (known !== undefined) return known;
    const company = {
      changed: new Set<number>(),
      headrooms: new Map(),
      after_id: null,
      began_ms: 0,
      is_asked: true,
      told: { day: 0, firings: 0 },
    };
    this.#companies.set(company_id, company);
    return company;
  }
}
