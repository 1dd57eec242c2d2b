import { type EngineLoss, unavailable } from "../engine/engine.ts";
import type { QueueMember } from "../../query/fair_queue.ts";

/** The pause before a second attempt; each further one is twice as long. */
export const FIRST_PAUSE_MS = 250;
export const LONGEST_PAUSE_MS = 30_000;
/** The longest rest of the compaction after failures in a row. */
const LONGEST_REST_MS = 600_000;
/** Losses by one company's queries that are further apart are not in a row. */
const IN_A_ROW_MS = 600_000;

/** Counts losses of engines in a row, and refuses for a while what caused them. Decision 0110. */
export class Backoff {
  /** The rest of the compaction after its first failure. */
  readonly #retry_ms: number;
  /** Losses in a row: by commits without a stored one between, by compactions without a completed one. */
  #commits_lost = 0;
  #compactions_lost = 0;
  #held_until_ms = 0;
  /** By company whose queries ended engines: how many in a row, and until when further ones are refused. */
  readonly #members = new Map<QueueMember, { losses: number; held_until_ms: number }>();

  constructor(retry_ms: number) {
    this.#retry_ms = retry_ms;
  }

  /** Counts a loss, of an engine that had committed `stored_rows`. Returns how long the compaction rests. */
  countLoss({ source, member }: EngineLoss, stored_rows: number): number {
    if (source === "query" && member !== undefined) this.#holdQueries(member);
    if (stored_rows > 0) this.#commits_lost = 0;
    if (source === "commit") this.#commits_lost++;
    if (source === "background") this.#compactions_lost++;
    if (source === "commit" && this.#commits_lost > 1) {
      this.#held_until_ms = performance.now() + heldMs(this.#commits_lost);
    }
    if (this.#compactions_lost === 0) return 0;
    return Math.min(this.#retry_ms * 2 ** (this.#compactions_lost - 1), LONGEST_REST_MS);
  }

  /** To be called when a compaction is complete. */
  onCompacted(): void {
    this.#compactions_lost = 0;
  }

  /** Errors: unavailable while the company's queries are held back. */
  checkQueries(member: QueueMember): void {
    const left_ms = (this.#members.get(member)?.held_until_ms ?? 0) - performance.now();
    if (left_ms <= 0) return;
    const message = "Cannot query usage: the last queries made the usage store fail; try another query later";
    throw unavailable(message, Math.ceil(left_ms / 1_000));
  }

  /** Errors: unavailable while commits are held back that failed again and again. */
  checkWrites(): void {
    const left_ms = this.#held_until_ms - performance.now();
    if (left_ms <= 0) return;
    const message = "Cannot store events: the last commits failed for lack of memory or disk; retry later";
    throw unavailable(message, Math.ceil(left_ms / 1_000));
  }

  /** A query that ends engines would be repeated, and end them all; other companies are not held back. */
  #holdQueries(member: QueueMember): void {
    const now_ms = performance.now();
    const before = this.#members.get(member);
    const is_in_row = before !== undefined && now_ms - before.held_until_ms < IN_A_ROW_MS;
    const losses = is_in_row ? before.losses + 1 : 1;
    const held_ms = losses === 1 ? 0 : heldMs(losses);
    this.#members.set(member, { losses, held_until_ms: now_ms + held_ms });
  }
}

/** How long the cause of so many losses in a row is held back. */
const heldMs = (losses: number): number => Math.min(FIRST_PAUSE_MS * 2 ** (losses - 1), LONGEST_PAUSE_MS);
