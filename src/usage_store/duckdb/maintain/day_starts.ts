/** Beginnings of days by which a company has sums: its zone's two, and one more where the zone was changed. */
const MAX_DAY_STARTS = 3;
/** Questions by day after which a beginning that none of them asked for may give way. */
const UNUSED_QUERIES = 50;

/** Which beginnings of days the questions of each company ask for: the store knows no zones. */
export class DayStarts {
  /** The number of questions by day, and that of the last one for each beginning. */
  readonly #asked = new Map<number, { questions: number; last: Map<number, number> }>();

  /** Counts a question by days that begin so. */
  count(company_id: number, starts: readonly number[]): void {
    if (starts.length === 0) return;
    const asked = this.#asked.get(company_id) ?? { questions: 0, last: new Map() };
    this.#asked.set(company_id, asked);
    asked.questions++;
    for (const start of starts) asked.last.set(start, asked.questions);
  }

  /**
   * The beginning to give up for a new one, of those that are kept: undefined where there is room, or nothing to make room
   * for; "none" where all are in use.
   */
  toGiveUp(
    company_id: number,
    kept: ReadonlySet<number>,
    wanted: number | undefined,
  ): number | "none" | undefined {
    if (wanted === undefined || kept.has(wanted) || kept.size < MAX_DAY_STARTS) return undefined;
    const { questions = 0, last } = this.#asked.get(company_id) ?? {};
    const lastOf = (start: number) => last?.get(start) ?? 0;
    const [oldest = 0] = [...kept].toSorted((a, b) => lastOf(a) - lastOf(b));
    return questions - lastOf(oldest) >= UNUSED_QUERIES ? oldest : "none";
  }
}
