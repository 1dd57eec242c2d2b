import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { sql } from "drizzle-orm";
import { CONSTRAINTS } from "../../../src/server/schema.ts";
import { openStore } from "../../../src/store/open.ts";
import type { Store } from "../../../src/store/store.ts";
import { DatabaseLaneRows } from "../../../src/usage/lanes/queries.ts";
import { usageLaneTable } from "../../../src/usage/lanes/tables.ts";
import type { LaneHolder } from "../../../src/usage_store/clickhouse/lanes/lane_rows.ts";
import { testPostgres } from "../../support/postgres.ts";
import { whyNoPostgres } from "../../support/why_no_postgres.ts";

const ANN: LaneHolder = { id: "ann", url: "http://10.0.0.1:3000" };
const BEN: LaneHolder = { id: "ben", url: null };
const reason = whyNoPostgres();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("the rows of lanes", () => {
  let store: Store;
  let rows: DatabaseLaneRows;
  let last_lane = -1;
  const newLane = () => ++last_lane;
  const stateOf = async (lane: number, holder = ANN) => (await rows.list(holder))[lane];
  /** Takes a lane as it is. */
  const take = async (lane: number, holder: LaneHolder) => {
    const seen = await stateOf(lane, holder);
    return seen === undefined ? null : rows.take(seen, holder);
  };
  /** Lets so many milliseconds pass since the lane was owned. */
  const endOwning = (lane: number, ago_ms: number) =>
    store.tx((q) =>
      q
        .update(q.use(usageLaneTable))
        .set({ expires_at: sql`clock_timestamp() - ${ago_ms} * interval '1 millisecond'` })
        .where(sql`lane = ${lane}`),
    );

  beforeAll(async () => {
    const database_url = await (await testPostgres()).createMigrated();
    store = await openStore({ database_url, data_dir: tmpdir() }, CONSTRAINTS);
    rows = await DatabaseLaneRows.open(store, 8);
  });
  afterAll(() => store.close());

  test("a lane is taken by one of many, with the next epoch", async () => {
    const lane = newLane();
    const seen = await stateOf(lane);
    if (seen === undefined) throw new Error("there is no lane");
    const taken = await Promise.all(Array.from({ length: 12 }, () => rows.take(seen, ANN)));
    expect(taken.filter((one) => one !== null)).toEqual([{ epoch: 1, closed_epoch: 0 }]);
    expect(await stateOf(lane, BEN)).toMatchObject({ epoch: 1, owner: ANN, is_free: false });
    expect(await rows.take(seen, BEN)).toBeNull();
  });

  test("whoever saw it as it is may take it, and nobody once it was renewed", async () => {
    const lane = newLane();
    await take(lane, ANN);
    await endOwning(lane, 1);
    // Its time by this clock says nothing: the clock may have been set.
    const seen = await stateOf(lane, BEN);
    expect(seen).toMatchObject({ owner: null, is_free: false });
    expect(await stateOf(lane, ANN)).toMatchObject({ owner: null, is_free: true });
    expect(await rows.renew(lane, 1)).toBe(true);
    expect(await stateOf(lane, BEN)).toMatchObject({ owner: ANN, is_free: false });
    expect(seen && (await rows.take(seen, BEN))).toBeNull();
    expect(await take(lane, BEN)).toEqual({ epoch: 2, closed_epoch: 0 });
    // What was said under the epoch before changes nothing.
    expect(await rows.renew(lane, 1)).toBe(false);
    expect(await rows.recordClosed(lane, 1)).toBe(false);
    expect(await rows.advance(lane, 1, 9)).toBe(false);
    expect(await rows.release(lane, 1)).toBe(false);
    expect(await stateOf(lane)).toMatchObject({ epoch: 2, owner: BEN });
  });

  test("what is closed stays known, and a released lane is free at once", async () => {
    const lane = newLane();
    await take(lane, ANN);
    expect(await rows.advance(lane, 1, 7)).toBe(true);
    expect(await rows.release(lane, 7)).toBe(true);
    expect(await rows.release(lane, 7)).toBe(false);
    expect(await stateOf(lane)).toMatchObject({ owner: null, is_free: true });
    expect(await take(lane, BEN)).toEqual({ epoch: 8, closed_epoch: 7 });
    await endOwning(lane, 1);
    expect(await take(lane, ANN)).toEqual({ epoch: 9, closed_epoch: 7 });
    expect(await rows.recordClosed(lane, 9)).toBe(true);
    await endOwning(lane, 1);
    expect(await take(lane, ANN)).toEqual({ epoch: 10, closed_epoch: 8 });
  });

  test("one that is wanted is free for that holder alone, for a while", async () => {
    const lane = newLane();
    await take(lane, ANN);
    await rows.want(lane, BEN);
    await rows.want(lane, ANN);
    expect(await stateOf(lane)).toMatchObject({ wanted_by: "ben" });
    await rows.release(lane, 1);
    expect([(await stateOf(lane))?.is_free, (await stateOf(lane, BEN))?.is_free]).toEqual([false, true]);
    await endOwning(lane, 10_000);
    expect((await stateOf(lane))?.is_free).toBe(true);
    expect(await take(lane, BEN)).toEqual({ epoch: 2, closed_epoch: 1 });
    expect(await stateOf(lane)).toMatchObject({ wanted_by: null });
  });

  test("the epoch that all lanes are to be in never falls, and rows that are there stay", async () => {
    await rows.raise(5);
    await rows.raise(3);
    const again = await DatabaseLaneRows.open(store, 8);
    const states = await again.list(ANN);
    expect(states.map(({ least_epoch }) => least_epoch)).toEqual(Array.from({ length: 8 }, () => 5));
    expect(states[0]).toMatchObject({ lane: 0, epoch: 1 });
  });
});
