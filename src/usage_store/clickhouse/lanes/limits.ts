/** How long a lane stays its owner's that is seen not to be renewed, by the clock of whoever looks. */
export const OWNED_MS = 10_000;

/** How long an owner trusts that it owns its lane since it sent the renewal, by its own clock: less, as clocks drift. */
export const TRUSTED_MS = 9_000;

/** The pause between renewals. */
export const RENEWAL_MS = 3_000;

/** How long a lane that one instance wants is free for that one alone. */
export const WANTED_MS = 2_000;

/**
 * How many epochs an owner goes ahead of what is stored, where the rows say less: they were put back to an earlier time,
 * and what owners since then sent may still be under way.
 */
export const AHEAD_EPOCHS = 1_000;

/** The pause after a lane could not be taken; each further one is twice as long, up to the most. */
export const TAKE_PAUSE_MS = 500;
export const TAKE_MOST_PAUSE_MS = 5_000;

/** How often a commit of unknown outcome is sent, and the pause before it is sent again. */
export const COMMIT_TRIES = 3;
export const COMMIT_RETRY_MS = 100;

/** How long what was read of a lane before it is taken is kept. */
export const PREPARED_MS = 60_000;

/** How long a process that ends waits for others to prepare its lanes. */
export const HAND_OVER_MS = 20_000;
