/** The groups of a company that have totals at once: some 300 bytes each, and their texts. Decision 0261. */
export const MAX_COMPANY_GROUPS = 500_000;

/** How many more groups of a company's watches may have a total. */
export class GroupBudget {
  #left: number;

  constructor(groups: number = MAX_COMPANY_GROUPS) {
    this.#left = groups;
  }

  get left(): number {
    return this.#left;
  }

  /** Takes the place of one group; false where none is left. */
  take(): boolean {
    if (this.#left <= 0) return false;
    this.#left--;
    return true;
  }

  /** Gives the places of groups back. */
  give(groups: number): void {
    this.#left += groups;
  }
}
