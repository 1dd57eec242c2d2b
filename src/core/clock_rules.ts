/** How far the wall clock may be from where it is expected before jobs that write money wait, in ms. */
export const JUMP_MS = 5 * 60_000;
/** How long it must be steady before an operator's word is enough, in ms. */
export const STEADY_MS = 15 * 60_000;

/** How fast the expected time follows the wall clock where they differ by less: a clock that is set right slowly. */
const DRIFT = 0.001;
/** How fast a process's instants go on while the wall clock is behind them. */
const CATCHING_UP = 0.5;

/** Both clocks of the machine at one look, in ms: Unix time, and the one that nobody sets. */
export interface Look {
  wall_ms: number;
  monotonic_ms: number;
}

/**
 * Why the wall clock is not trusted: it `jumped`, it is `behind` what was written before the start, or `disagrees` with
 * the database server's.
 */
export interface Hold {
  reason: "jumped" | "behind" | "disagrees";
  /** The difference of the two clocks when it was last seen to change, and since when it is so. */
  offset_ms: number;
  steady_since_ms: number;
  is_accepted: boolean;
}

/** What a process knows of its clock. */
export interface ClockState {
  monotonic_ms: number;
  /** The last instant that it gave out. */
  given_ms: number;
  /** What the wall clock should show, by the other one. */
  expected_ms: number;
  hold: Hold | null;
}

/** A clock at the start, when there is nothing to compare it with. */
export function startClock({ wall_ms, monotonic_ms }: Look): ClockState {
  return { monotonic_ms, given_ms: wall_ms, expected_ms: wall_ms, hold: null };
}

/**
 * The state after a look. While the wall clock is not trusted, time goes on by the monotonic one; instants never go
 * back, and where the wall clock is behind them they go on at half speed until it has caught up.
 */
export function look(state: ClockState, seen: Look): ClockState {
  const elapsed_ms = Math.max(0, seen.monotonic_ms - state.monotonic_ms);
  const expected_ms = state.expected_ms + elapsed_ms;
  const hold = holdAfter(state.hold, seen, expected_ms);
  const has_ended = state.hold !== null && hold === null;
  const is_trusted = hold === null;
  const off_ms = seen.wall_ms - expected_ms;
  const followed_ms = has_ended ? off_ms : clamp(off_ms, elapsed_ms * DRIFT);
  return {
    monotonic_ms: Math.max(seen.monotonic_ms, state.monotonic_ms),
    given_ms: Math.max(is_trusted ? seen.wall_ms : expected_ms, state.given_ms + elapsed_ms * CATCHING_UP),
    expected_ms: is_trusted ? expected_ms + followed_ms : expected_ms,
    hold,
  };
}

function holdAfter(hold: Hold | null, seen: Look, expected_ms: number): Hold | null {
  const offset_ms = seen.wall_ms - seen.monotonic_ms;
  const is_off = Math.abs(seen.wall_ms - expected_ms) > JUMP_MS;
  const moved = { offset_ms, steady_since_ms: seen.monotonic_ms, is_accepted: false };
  if (hold === null) return is_off ? { reason: "jumped", ...moved } : null;
  // It was set back to where it had been: nothing that was written in between went by it.
  if (hold.reason === "jumped" && !is_off) return null;
  if (Math.abs(offset_ms - hold.offset_ms) > JUMP_MS) return { ...hold, ...moved };
  const is_steady = seen.monotonic_ms - hold.steady_since_ms >= STEADY_MS;
  return hold.is_accepted && is_steady && hold.reason !== "disagrees" ? null : hold;
}

/** The state where records of `newest_ms` were written before this start: later than the wall clock says it is. */
export function compareWithRecords(state: ClockState, seen: Look, newest_ms: number): ClockState {
  const next = look(state, seen);
  if (next.hold !== null || newest_ms - seen.wall_ms <= JUMP_MS) return next;
  return { ...next, hold: newHold("behind", seen) };
}

/** The state after the database server gave its time: it decides. */
export function compareWithServer(state: ClockState, seen: Look, server_ms: number): ClockState {
  const next = look(state, seen);
  if (Math.abs(seen.wall_ms - server_ms) > JUMP_MS)
    return next.hold?.reason === "disagrees" ? next : { ...next, hold: newHold("disagrees", seen) };
  if (next.hold === null) return next;
  return { ...next, hold: null, expected_ms: seen.wall_ms, given_ms: Math.max(seen.wall_ms, next.given_ms) };
}

/** The state after an operator's word that the wall clock is right. */
export function accept(state: ClockState): ClockState {
  return state.hold === null ? state : { ...state, hold: { ...state.hold, is_accepted: true } };
}

function newHold(reason: Hold["reason"], { wall_ms, monotonic_ms }: Look): Hold {
  return {
    reason,
    offset_ms: wall_ms - monotonic_ms,
    steady_since_ms: monotonic_ms,
    is_accepted: false,
  };
}

function clamp(value: number, bound: number): number {
  return Math.max(-bound, Math.min(bound, value));
}
