import { expect, test } from "bun:test";
import { closeEpochsBefore } from "../../../src/usage_store/clickhouse/lanes/close_epochs.ts";
import { type CommitNumber, COMMITS } from "../../../src/usage_store/clickhouse/lanes/commit_numbers.ts";
import type { EpochTail, LaneLog } from "../../../src/usage_store/clickhouse/lanes/lane_log.ts";

test("an epoch ends in a void, but for one whose numbers are all given", async () => {
  const tails = new Map<number, EpochTail>([
    [1, { n: COMMITS - 1, is_void: false }],
    [2, { n: 7, is_void: false }],
    [3, { n: 3, is_void: true }],
  ]);
  const voids: CommitNumber[] = [];
  const log: LaneLog<never> = {
    insert: () => Promise.reject(new Error("Nothing is committed here")),
    lastEpoch: async () => 3,
    tailOf: async (_lane, epoch) => tails.get(epoch) ?? { n: 0, is_void: false },
    async insertVoid(_lane, number) {
      voids.push(number);
      tails.set(number.epoch, { n: number.n, is_void: true });
    },
  };
  await closeEpochsBefore(log, 0, { epoch: 5, closed_epoch: 0 }, () => Promise.resolve());
  expect(voids).toEqual([
    { epoch: 2, n: 8 },
    { epoch: 4, n: 1 },
  ]);
});
