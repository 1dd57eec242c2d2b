import { COMMITS } from "./commit_numbers.ts";
import type { TakenLane } from "./lane_rows.ts";
import type { LaneLog } from "./lane_log.ts";

/**
 * Closes the epochs between the last closed one and the taker's own: nothing that their owners sent is stored any more,
 * however late it arrives. `confirm` throws once the lane is no longer the taker's.
 */
export async function closeEpochsBefore(
  log: LaneLog<unknown>,
  lane: number,
  { epoch, closed_epoch }: TakenLane,
  confirm: () => Promise<void>,
): Promise<void> {
  for (let earlier = closed_epoch + 1; earlier < epoch; earlier++)
    await closeEpoch(log, lane, earlier, confirm);
}

/**
 * Closes an epoch: a void takes the number after its last commit, which is the only one that its owner may have sent and
 * that is not stored yet. If that one was faster, the void takes the next.
 */
export async function closeEpoch(
  log: LaneLog<unknown>,
  lane: number,
  epoch: number,
  confirm: () => Promise<void>,
): Promise<void> {
  for (;;) {
    const { n, is_void } = await log.tailOf(lane, epoch);
    // One that was loaded from elsewhere may have all of its numbers: no commit comes after them.
    if (is_void || n >= COMMITS - 1) return;
    await log.insertVoid(lane, { epoch, n: n + 1 });
    await confirm();
  }
}
