import type { Spending, Spent } from "../../app/live_limits.ts";

/** After so long they are rated again without new usage: plans change, and fees are added. */
const STALE_MS = 300_000;
/** After so long is read again who is rated, though no record changed here: subscriptions end, and other processes write. */
const LISTED_MS = 60_000;

/** While something is rated, what is due is asked for every two seconds. */
const KEPT_MS = 10_000;

/** A subscription that is rated. */
interface Rated {
  /** The step by which it was listed last, and that by which its last rating began. */
  listed: number;
  begun: number;
  begun_ms: number;
  spent: Spent | null;
}

/** The running charges of a company's subscriptions that a process has rated, and which are to be rated again. */
export class RatedSpending implements Spending {
  /** Those that were rated longest ago come first. */
  readonly #rated = new Map<number, Rated>();
  /** Those that are to be rated, in the order in which that turned out. */
  readonly #due = new Set<number>();
  /** Counts listings and ratings. */
  #step = 0;
  #listed_ms: number | null = null;
  #asked_ms = 0;
  /** No period that is rated ends before. */
  #next_end_ms = Number.POSITIVE_INFINITY;

  note(subscription_id: number): void {
    if (this.#rated.has(subscription_id)) this.#due.add(subscription_id);
  }

  at(subscription_id: number, now_ms: number): Spent | undefined {
    const spent = this.#rated.get(subscription_id)?.spent ?? null;
    return spent !== null && isOf(spent, now_ms) ? spent : undefined;
  }

  forgetList(): void {
    this.#listed_ms = null;
  }

  isListed(now_ms: number): boolean {
    return this.#listed_ms !== null && isWithin(LISTED_MS, this.#listed_ms, now_ms);
  }

  beginList(now_ms: number): number {
    this.#listed_ms = now_ms;
    return ++this.#step;
  }

  list(ids: readonly number[], listing: number): number[] {
    const added = ids.filter((id) => !this.#rated.has(id));
    for (const id of ids) {
      const known = this.#rated.get(id);
      if (known !== undefined) known.listed = listing;
      else this.#rated.set(id, { listed: listing, begun: 0, begun_ms: 0, spent: null });
    }
    for (const id of added) this.#due.add(id);
    return added;
  }

  endList(listing: number): number[] {
    const dropped: number[] = [];
    for (const [id, { listed }] of this.#rated) if (listed < listing) dropped.push(id);
    for (const id of dropped) {
      this.#rated.delete(id);
      this.#due.delete(id);
    }
    return dropped;
  }

  doubt(subscription_id: number, now_ms: number): void {
    const rated = this.#rated.get(subscription_id);
    if (rated !== undefined && !isWithin(KEPT_MS, this.#asked_ms, now_ms)) rated.spent = null;
  }

  due(now_ms: number): number[] {
    this.#asked_ms = now_ms;
    const stale: number[] = [];
    for (const [id, { begun_ms }] of this.#rated) {
      if (isWithin(STALE_MS, begun_ms, now_ms)) break;
      stale.push(id);
    }
    for (const id of [...stale, ...this.#ended(now_ms)]) this.#due.add(id);
    return [...this.#due];
  }

  /** Those whose periods have ended: they are looked for at the end of one, and only then. */
  #ended(now_ms: number): number[] {
    if (now_ms < this.#next_end_ms) return [];
    const ended: number[] = [];
    this.#next_end_ms = Number.POSITIVE_INFINITY;
    for (const [id, { spent }] of this.#rated) {
      if (spent === null) continue;
      if (spent.until_ms <= now_ms) ended.push(id);
      else this.#next_end_ms = Math.min(this.#next_end_ms, spent.until_ms);
    }
    return ended;
  }

  begin(ids: readonly number[], now_ms: number): number {
    const step = ++this.#step;
    for (const id of ids) {
      this.#due.delete(id);
      const rated = this.#rated.get(id);
      if (rated === undefined) continue;
      rated.begun = step;
      rated.begun_ms = now_ms;
      // To the end of the map.
      this.#rated.delete(id);
      this.#rated.set(id, rated);
    }
    return step;
  }

  put(subscription_id: number, spent: Spent, begun: number): void {
    const rated = this.#rated.get(subscription_id);
    // What was dropped since, and listed again, is not heard of in between: it waits for its own rating.
    if (rated?.begun !== begun) return;
    rated.spent = spent;
    this.#next_end_ms = Math.min(this.#next_end_ms, spent.until_ms);
  }
}

/** Whether what was rated holds at an instant: a clock that is set back returns to a period before. */
function isOf({ from_ms, until_ms, as_of_ms }: Spent, now_ms: number): boolean {
  // Of a subscription that has not begun the first period is rated.
  return now_ms < until_ms && (now_ms >= from_ms || as_of_ms < from_ms);
}

/** Whether two instants are near, whichever is first: a clock that was set back makes nothing wait. */
function isWithin(ms: number, one_ms: number, other_ms: number): boolean {
  return Math.abs(one_ms - other_ms) < ms;
}
