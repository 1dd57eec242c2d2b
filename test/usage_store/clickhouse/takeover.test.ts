import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ClickHouseUsage,
  openClickHouse,
} from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import { ClickHouse } from "../../../src/usage_store/clickhouse/engine/engine.ts";
import type { LaneRows } from "../../../src/usage_store/clickhouse/lanes/lane_rows.ts";
import type { UsageStore } from "../../../src/usage_store/port.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { failure, FIRST_PAGE, NOW_MS, TIMEOUT_MS } from "../fixtures.ts";
import { Between, persist } from "./between.ts";
import { MemoryRows } from "./memory_rows.ts";

const LANES = 2;
const reason = whyNoClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("owners of ClickHouse's lanes", () => {
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
    rows: LaneRows,
    id: string,
    on_failure: (error: unknown) => void = () => undefined,
    takes_share = true,
  ): Promise<ClickHouseUsage> =>
    openClickHouse({
      on_failure,
      takes_share,
      url,
      lanes: LANES,
      openRows: async () => rows,
      holder: { id, url: null },
      folder,
      rest_ms: [0, 0],
      group_ms: 0,
    });
  const count = async (store: UsageStore, company_id: number) =>
    (await store.search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS)).total;

  test("the next owner knows every id, and by what it differs", async () => {
    const url = await server.createDatabase();
    const rows = new MemoryRows(LANES);
    const events = Array.from({ length: 300 }, (_, i) => modelEvent({ timestamp: NOW_MS - i * 7_000_000 }));
    const [event] = events;
    if (event === undefined) throw new Error("there is no event");
    const failures: unknown[] = [];
    const first = await open(url, rows, "first", (error) => failures.push(error));
    expect(await first.append(4, events, NOW_MS)).toEqual({ accepted: 300, duplicates: 0 });
    const last_seq = await first.lastSeq(4, TIMEOUT_MS);
    await first.close();
    expect(failures).toEqual([]);
    const second = await open(url, rows, "second");
    expect(await second.append(4, events, NOW_MS)).toEqual({ accepted: 0, duplicates: 300 });
    const other_time = second.append(4, [{ ...event, timestamp: event.timestamp - 9e9 }], NOW_MS);
    expect(await failure(other_time)).toMatchObject({ kind: "conflict" });
    expect(await second.append(6, [event], NOW_MS)).toEqual({ accepted: 1, duplicates: 0 });
    expect(await second.lastSeq(4, TIMEOUT_MS)).toBeGreaterThanOrEqual(last_seq);
    expect(second.stats().index_entries).toBe(301);
    await second.close();
  });

  test("an owner that loses its lanes says so", async () => {
    const lost: string[] = [];
    const rows = new LostRows(LANES);
    const store = await open(await server.createDatabase(), rows, "only", (error) =>
      lost.push(String(error)),
    );
    for (const company_id of [2, 3]) await store.append(company_id, [modelEvent()], NOW_MS);
    rows.are_lost = true;
    while (lost.length < LANES) await Bun.sleep(50);
    expect(lost.toSorted()).toEqual(
      [0, 1].map((lane) => expect.stringContaining(`Lane ${lane} is no longer`)),
    );
    await store.close();
  });

  test("a lane that was lost with its engine is taken again when that is back, with the next epoch", async () => {
    const between = new Between(await server.createDatabase());
    const rows = new MemoryRows(LANES);
    const failures: unknown[] = [];
    const store = await open(between.url, rows, "only", (error) => failures.push(error));
    const [event, lost] = [modelEvent(), modelEvent()];
    await store.append(2, [event], NOW_MS);
    between.is_down = true;
    expect(await failure(store.append(2, [lost], NOW_MS))).toMatchObject({ kind: "unavailable" });
    // The commit and the lane, and then that this can't be taken.
    while (failures.length < 5) await Bun.sleep(20);
    between.is_down = false;
    expect(await persist(() => store.append(2, [event, lost], NOW_MS))).toEqual({
      accepted: 1,
      duplicates: 1,
    });
    const states = await rows.list({ id: "another", url: null });
    expect(states.map(({ epoch }) => epoch)).toEqual([2, 1]);
    await store.close();
    await between.stop();
  }, 60_000);

  test("a commit is one part, however many events it has", async () => {
    const url = await server.createDatabase();
    const store = await open(url, new MemoryRows(LANES), "only");
    const events = Array.from({ length: 70_000 }, (_, i) => modelEvent({ timestamp: i * 1_000 }));
    await store.append(1, events, NOW_MS);
    const engine = ClickHouse.connect(url);
    const bounds = { timeout_ms: TIMEOUT_MS };
    const inserted = await engine.ask(
      "SELECT rows FROM system.parts WHERE database = currentDatabase() AND table = 'usage_events' AND level = 0 AND rows > 1",
      bounds,
    );
    expect(inserted).toEqual([["70000"]]);
    await engine.close();
    await store.close();
  });

  test("of an owner that is cut off, what it stored counts once and what arrives too late counts never", async () => {
    const url = await server.createDatabase();
    const between = new Between(url);
    const rows = new MemoryRows(LANES);
    const cut = new CutRows(rows);
    const first = await open(between.url, cut.rows, "first");
    // Both lanes are the first one's.
    await first.append(2, [modelEvent()], NOW_MS);
    await first.append(3, [modelEvent()], NOW_MS);
    const [stored, late] = [modelEvent(), modelEvent()];
    between.hold(0, "answer");
    between.hold(1, "request");
    const answers = [failure(first.append(2, [stored], NOW_MS)), failure(first.append(3, [late], NOW_MS))];
    await between.held(0);
    await between.held(1);
    expect(await first.lanes.confirms(2)).toBe(true);
    cut.cut();
    const second = await open(url, rows, "second");
    // It may take the lanes once their time is over.
    expect(await persist(() => second.append(2, [stored], NOW_MS))).toEqual({ accepted: 0, duplicates: 1 });
    expect(await persist(() => second.append(3, [late], NOW_MS))).toEqual({ accepted: 1, duplicates: 0 });
    // What it decides from here on is another's to decide, also before it has heard of that.
    expect([await first.lanes.confirms(2), await second.lanes.confirms(2)]).toEqual([false, true]);
    between.release();
    for (const answer of answers) expect((await answer).kind).toBe("unavailable");
    await between.quiet();
    expect([await count(second, 2), await count(second, 3)]).toEqual([2, 2]);
    expect(await second.append(3, [late], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
    await first.close();
    await second.close();
    await between.stop();
  }, 120_000);

  test("what divides the numbers of all lanes waits until nothing more is stored before it", async () => {
    const url = await server.createDatabase();
    const rows = new MemoryRows(LANES);
    const cut = new CutRows(rows);
    const first = await open(url, cut.rows, "one");
    for (const company_id of [2, 3]) await first.append(company_id, [modelEvent()], NOW_MS);
    cut.cut();
    const asking = await open(url, rows, "asking", undefined, false);
    const waited = await asking.lastSeq(0, 200).catch((error) => error);
    expect(waited).toMatchObject({
      kind: "unavailable",
      message: "Cannot tell what is stored by now: 2 lanes have no owner that goes on in a new epoch",
    });
    const steps: string[] = [];
    const dividing = asking.lastSeq(0, TIMEOUT_MS).then(() => steps.push("divided"));
    while ((await rows.list({ id: "another", url: null })).some(({ least_epoch }) => least_epoch < 2))
      await Bun.sleep(10);
    const between = new Between(url);
    between.hold(0, "request");
    // By the same name, so that it need not wait.
    const second = await open(between.url, rows, "one");
    await between.held(0);
    while ((await rows.list({ id: "another", url: null })).some(({ epoch }) => epoch < 2))
      await Bun.sleep(10);
    // Long enough to look at the rows once more.
    await Bun.sleep(300);
    steps.push("closed");
    between.release();
    await dividing;
    expect(steps).toEqual(["closed", "divided"]);
    for (const store of [first, second, asking]) await store.close();
    await between.stop();
  }, 60_000);

  test("an owner that is cut off does not say that it has closed a company's events, which another one admits", async () => {
    const url = await server.createDatabase();
    const rows = new MemoryRows(LANES);
    const cut = new CutRows(rows);
    const first = await open(url, cut.rows, "first");
    await first.append(2, [modelEvent()], NOW_MS);
    expect(await first.lanes.confirms(2)).toBe(true);
    cut.cut();
    const second = await open(url, rows, "second");
    await persist(() => second.append(2, [modelEvent()], NOW_MS));
    const hour_ms = NOW_MS - (NOW_MS % 3_600_000);
    expect(await failure(first.closeBefore(2, hour_ms))).toMatchObject({ kind: "unavailable" });
    await second.closeBefore(2, hour_ms);
    expect(second.sinceOf(2)).toBe(hour_ms);
    await first.close();
    await second.close();
  }, 120_000);
});

/** Rows that are another's from one moment on. */
class LostRows extends MemoryRows {
  are_lost = false;

  override async renew(lane: number, epoch: number): Promise<boolean> {
    return !this.are_lost && super.renew(lane, epoch);
  }
}

/** Rows that can't be reached any more from one moment on. */
class CutRows {
  readonly rows: LaneRows;
  #is_cut = false;

  constructor(rows: LaneRows) {
    this.rows = new Proxy(rows, {
      get: (target, name: keyof LaneRows) => {
        if (!(name in target)) return undefined;
        return async (...given: never[]) => {
          if (this.#is_cut) throw new Error("the rows can't be reached");
          return (target[name] as (...all: never[]) => unknown)(...given);
        };
      },
    });
  }

  cut(): void {
    this.#is_cut = true;
  }
}
