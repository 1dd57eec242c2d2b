import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ClickHouseUsage,
  openClickHouse,
} from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import type { LaneHolder, LaneRows } from "../../../src/usage_store/clickhouse/lanes/lane_rows.ts";
import type { ClickHouseOptions } from "../../../src/usage_store/clickhouse/options.ts";
import { PreparedLanes } from "../../../src/usage_store/clickhouse/lanes/prepared_lanes.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { HOUR_MS } from "../../../src/usage_store/time_buckets.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { failure, NOW_MS } from "../fixtures.ts";
import { persist } from "./between.ts";
import { MemoryRows } from "./memory_rows.ts";
import { StatementsBetween } from "./statements_between.ts";

const COMPANY = 2;
const SINCE_MS = Math.floor(NOW_MS / HOUR_MS) * HOUR_MS;
const reason = whyNoClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("a lane that is read before it is taken", () => {
  const folder = mkdtempSync(join(tmpdir(), "usage-"));
  let server: ClickHouseServer;
  beforeAll(async () => {
    server = await startClickHouse();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const open = (
    url: string,
    rows: WatchedRows,
    id: string,
    more: Pick<ClickHouseOptions, "takes_share" | "on_failure"> = {},
  ): Promise<ClickHouseUsage> =>
    openClickHouse({
      takes_share: false,
      ...more,
      url,
      openRows: async () => rows,
      lanes: rows.lanes,
      holder: { id, url: null },
      folder,
      rest_ms: [0, 0],
      group_ms: 0,
    });

  /**
   * Two processes, of which the first owns the lane, and what the second one does with it. `onNoted` may have the statement
   * fail: by false.
   */
  async function openTwo(
    onNoted: (times: number, first: ClickHouseUsage, rows: WatchedRows) => Promise<unknown> = async () =>
      undefined,
    lanes = 1,
  ) {
    const url = await server.createDatabase();
    const steps: string[] = [];
    const failures: unknown[] = [];
    const rows = new WatchedRows(lanes, steps);
    const first = await open(url, rows, "first");
    let times = 0;
    const between = new StatementsBetween(url, async (sql, pass) => {
      const answer = await pass(sql);
      // The number up to which the lane is to be read is noted by now.
      if (sql.startsWith("SELECT count(), max(seq)") && (await onNoted(++times, first, rows)) === false)
        return new Response("it failed", { status: 500 });
      if (!sql.includes("FORMAT RowBinary")) return answer;
      const ids = await answer.arrayBuffer();
      steps.push(`read ${ids.byteLength / 28}`);
      return new Response(ids, answer);
    });
    const openSecond = (takes_share = false) =>
      open(between.url, rows, "second", { takes_share, on_failure: (error) => void failures.push(error) });
    const close = async (...stores: ClickHouseUsage[]) => {
      for (const store of stores) await store.close();
      await between.stop();
    };
    return { url, rows, first, openSecond, steps, failures, close };
  }

  test("is given up once it is read, and of it only what was stored since is read then", async () => {
    const before = Array.from({ length: 300 }, (_, i) => modelEvent({ timestamp: NOW_MS - i * 7_000_000 }));
    const [meanwhile, late, after] = [modelEvent(), modelEvent(), modelEvent()];
    const { first, openSecond, steps, close } = await openTwo(async (times, owner) => {
      if (times === 1) await owner.append(COMPANY, [meanwhile], NOW_MS);
      if (times === 2) await owner.append(COMPANY, [late], NOW_MS);
    });
    await first.append(COMPANY, before, NOW_MS);
    const second = await openSecond();
    await known(second);
    await first.lanes.handOver([(lane) => second.lanes.takeOver(lane)]);
    const known_events = [...before, meanwhile, late];
    expect(await persist(() => second.append(COMPANY, known_events, NOW_MS))).toEqual({
      accepted: 0,
      duplicates: 302,
    });
    expect(steps).toEqual(["read 300", "read 1", "wanted", "released", "taken", "read 1"]);
    expect(second.stats().index_entries).toBe(302);
    expect(await second.append(COMPANY, [after], NOW_MS)).toEqual({ accepted: 1, duplicates: 0 });
    expect(await second.append(COMPANY, [after], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
    for (const event of [...before.slice(0, 1), meanwhile, late, after])
      for (const change of [{ usage: "7.5" }, { timestamp: event.timestamp - 9e9 }]) {
        const conflict = second.append(COMPANY, [{ ...event, ...change }], NOW_MS);
        expect(await failure(conflict)).toMatchObject({ kind: "conflict" });
      }
    await close(first, second);
  }, 60_000);

  test("knows events that were removed or erased meanwhile as one that is read later does", async () => {
    const removed = modelEvent({ timestamp: SINCE_MS - HOUR_MS });
    const erased = modelEvent({ timestamp: SINCE_MS, metadata: canonicalJson({ name: "Ada" }) });
    const { url, rows, first, openSecond, close } = await openTwo(async (times, owner) => {
      if (times !== 2) return;
      await owner.closeBefore(COMPANY, SINCE_MS);
      expect(await owner.removeClosed(COMPANY, 10)).toBe(1);
      await owner.erase(COMPANY, [erased.id]);
    });
    await first.append(COMPANY, [removed, erased], NOW_MS);
    const second = await openSecond();
    await known(second);
    await first.lanes.handOver([(lane) => second.lanes.takeOver(lane)]);
    const moved = { ...removed, timestamp: SINCE_MS + 1 };
    expect(await persist(() => second.append(COMPANY, [erased], NOW_MS))).toMatchObject({ duplicates: 1 });
    expect((await failure(second.append(COMPANY, [removed], NOW_MS))).kind).toBe("invalid");
    const other = second.append(COMPANY, [{ ...erased, usage: "7.5" }], NOW_MS);
    expect((await failure(other)).kind).toBe("conflict");
    await second.lanes.handOver([]);
    const later = await open(url, rows, "later");
    expect(await persist(() => later.append(COMPANY, [erased], NOW_MS))).toMatchObject({ duplicates: 1 });
    expect((await failure(later.append(COMPANY, [removed], NOW_MS))).kind).toBe("invalid");
    // Nobody knows any more that there was one.
    expect(await later.append(COMPANY, [moved], NOW_MS)).toEqual({ accepted: 1, duplicates: 0 });
    await close(first, second, later);
  }, 60_000);

  test("takes an id of a removed event at another time, as the owner before would have", async () => {
    const removed = modelEvent({ timestamp: SINCE_MS - HOUR_MS });
    const { first, openSecond, close } = await openTwo(async (times, owner) => {
      if (times !== 2) return;
      await owner.closeBefore(COMPANY, SINCE_MS);
      await owner.removeClosed(COMPANY, 10);
    });
    await first.append(COMPANY, [removed], NOW_MS);
    const second = await openSecond();
    await known(second);
    await first.lanes.handOver([(lane) => second.lanes.takeOver(lane)]);
    const moved = { ...removed, timestamp: SINCE_MS };
    expect(await persist(() => second.append(COMPANY, [moved], NOW_MS))).toMatchObject({ accepted: 1 });
    expect(await second.append(COMPANY, [moved], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
    await close(first, second);
  }, 60_000);

  test("may have another owner in between, whose events are read, too", async () => {
    const [before, between, after] = [modelEvent(), modelEvent(), modelEvent()];
    const { url, rows, first, openSecond, steps, close } = await openTwo(async (times, _, shared) => {
      if (times === 2) await shared.want(0, { id: "third", url: null });
    });
    await first.append(COMPANY, [before], NOW_MS);
    const second = await openSecond();
    await known(second);
    const third = await open(url, rows, "third");
    // It may see by then that the first one owns the lane no more.
    await second.lanes.takeOver(0).catch(() => undefined);
    expect(await persist(() => third.append(COMPANY, [between], NOW_MS))).toMatchObject({ accepted: 1 });
    await first.lanes.handOver([]);
    await third.lanes.handOver([]);
    const all = [before, between, after];
    expect(await persist(() => second.append(COMPANY, all, NOW_MS))).toEqual({ accepted: 1, duplicates: 2 });
    expect(steps.filter((step) => step.startsWith("read"))).toEqual(["read 1", "read 1"]);
    const other = second.append(COMPANY, [{ ...between, usage: "7.5" }], NOW_MS);
    expect((await failure(other)).kind).toBe("conflict");
    await close(first, second, third);
  }, 60_000);

  test("is read before it is asked for by a process that wants its share", async () => {
    const events = Array.from({ length: 20 }, () => modelEvent());
    const { first, openSecond, steps, close } = await openTwo(undefined, 2);
    await first.append(COMPANY, events, NOW_MS);
    await first.append(COMPANY + 1, [modelEvent()], NOW_MS);
    const second = await openSecond(true);
    expect(await persist(() => second.append(COMPANY, events, NOW_MS))).toMatchObject({ duplicates: 20 });
    expect(steps).toEqual(["read 20", "wanted", "released", "taken"]);
    await close(first, second);
  }, 60_000);

  test("is read once more where that failed", async () => {
    const event = modelEvent();
    const { first, openSecond, steps, failures, close } = await openTwo(async (times) => {
      if (times === 1) steps.push("failed");
      return times > 1;
    }, 2);
    await first.append(COMPANY, [event], NOW_MS);
    await first.append(COMPANY + 1, [modelEvent()], NOW_MS);
    const second = await openSecond(true);
    while (!second.lanes.owns(COMPANY)) await Bun.sleep(50);
    expect(await second.append(COMPANY, [event], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
    expect(steps).toEqual(["failed", "read 1", "wanted", "released", "taken"]);
    expect(failures).toHaveLength(1);
    await close(first, second);
  }, 60_000);

  test("is given up unread where nobody reads it in time, and served until then", async () => {
    const [event, other] = [modelEvent(), modelEvent()];
    const { first, openSecond, steps, close } = await openTwo();
    await first.append(COMPANY, [event], NOW_MS);
    const second = await openSecond();
    const asked: number[] = [];
    const asking = Promise.withResolvers<void>();
    const leaving = first.lanes.handOver(
      [
        () => Promise.reject(new Error("it does not know how")),
        (lane, signal) =>
          new Promise((_, reject) => {
            asked.push(lane);
            asking.resolve();
            signal.addEventListener("abort", () => reject(new Error("it took too long")));
          }),
      ],
      500,
    );
    await asking.promise;
    expect(await first.append(COMPANY, [other], NOW_MS)).toEqual({ accepted: 1, duplicates: 0 });
    await leaving;
    expect(asked).toEqual([0]);
    expect(await persist(() => second.append(COMPANY, [event, other], NOW_MS))).toMatchObject({
      duplicates: 2,
    });
    expect(steps).toEqual(["released", "taken", "read 2"]);
    // What nobody else owns is not asked for.
    expect(await second.lanes.takeOver(0).catch(({ name }: Error) => name)).toBe("NotOwnerError");
    await close(first, second);
  }, 60_000);

  test("is not asked for by a process that ends, however much it has read", async () => {
    const noted = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    const { first, openSecond, steps, close } = await openTwo(async () => {
      noted.resolve();
      await ended.promise;
    });
    await first.append(COMPANY, [modelEvent()], NOW_MS);
    const second = await openSecond();
    await known(second);
    const taking = second.lanes.takeOver(0).catch(({ name }: Error) => name);
    await noted.promise;
    await second.lanes.handOver([]);
    expect(await taking).toBe("NotOwnerError");
    ended.resolve();
    expect(steps).toEqual([]);
    await close(first, second);
  });
});

test("lanes are read one after the other, and what is not taken is forgotten", async () => {
  const steps: string[] = [];
  const sleeping: (() => void)[] = [];
  const clock = { now: () => 0, sleep: () => new Promise<void>((resolve) => sleeping.push(resolve)) };
  const read = async (lane: number) => {
    steps.push(`begin ${lane}`);
    await Bun.sleep(1);
    steps.push(`end ${lane}`);
    return { lane, readOn: async () => void steps.push(`on ${lane}`) };
  };
  const lanes = new PreparedLanes(read, clock);
  await Promise.all([lanes.prepare(1), lanes.prepare(2), lanes.prepare(1)]);
  expect(steps.splice(0)).toEqual(["begin 1", "end 1", "on 1", "begin 2", "end 2", "on 2"]);
  expect((await lanes.take(1)).lane).toBe(1);
  expect(steps.splice(0)).toEqual(["on 1"]);
  for (const wake of sleeping) wake();
  await Bun.sleep(0);
  expect([lanes.has(1), lanes.has(2)]).toEqual([false, false]);
  await lanes.take(2);
  expect(steps.splice(0)).toEqual(["begin 2", "end 2"]);
  lanes.end();
  expect(await lanes.prepare(3).catch(String)).toContain("the process ends");
  expect((await lanes.take(3)).lane).toBe(3);
});

/** Resolves when a process has seen who owns the lane. */
async function known(store: ClickHouseUsage): Promise<void> {
  while (store.lanes.otherOwnerOf(COMPANY) === undefined) await Bun.sleep(10);
}

/** Rows that note what is done with them. */
class WatchedRows extends MemoryRows {
  readonly lanes: number;
  readonly #steps: string[];

  constructor(lanes: number, steps: string[]) {
    super(lanes);
    this.lanes = lanes;
    this.#steps = steps;
  }

  override async take(...given: Parameters<LaneRows["take"]>) {
    const taken = await super.take(...given);
    if (given[1].id === "second") this.#steps.push("taken");
    return taken;
  }

  override async release(lane: number, epoch: number): Promise<boolean> {
    this.#steps.push("released");
    return super.release(lane, epoch);
  }

  override async want(lane: number, holder: LaneHolder): Promise<void> {
    if (holder.id === "second") this.#steps.push("wanted");
    return super.want(lane, holder);
  }
}
