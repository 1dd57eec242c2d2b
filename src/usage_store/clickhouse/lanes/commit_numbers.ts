/** The number of a commit within its lane: the epoch of the owner, and its count in that from 1. */
export interface CommitNumber {
  epoch: number;
  n: number;
}

/** The numbers that an epoch has. */
export const COMMITS = 2 ** 20;

/** The last commit of an epoch: the voids that close it come after. */
export const LAST_COMMIT = COMMITS - 16;

/** The number as one, which grows with the epoch and then with the count; epochs stay under a million: under 2^40. */
export function seqOf({ epoch, n }: CommitNumber): number {
  return epoch * COMMITS + n;
}

/** The commit of a number as one. */
export function numberOf(seq: number): CommitNumber {
  return { epoch: Math.floor(seq / COMMITS), n: seq % COMMITS };
}
