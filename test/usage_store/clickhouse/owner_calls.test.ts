import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ClickHouseUsage,
  openClickHouse,
} from "../../../src/usage_store/clickhouse/clickhouse_store.ts";
import type { ClickHouseOptions } from "../../../src/usage_store/clickhouse/options.ts";
import {
  NoAnswerError,
  NotOwnerError,
  type PassOn,
} from "../../../src/usage_store/clickhouse/owner_calls.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { ALL_USAGE } from "../../../src/usage_store/meter.ts";
import { type ClickHouseServer, startClickHouse, whyNoClickHouse } from "../../support/clickhouse.ts";
import { modelEvent } from "../arbitrary_events.ts";
import { failure, FIRST_PAGE, NOW_MS, TIMEOUT_MS } from "../fixtures.ts";
import { MemoryRows } from "./memory_rows.ts";

const LANES = 2;
const HOUR_MS = 3_600_000;
const reason = whyNoClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("two processes on ClickHouse's lanes", () => {
  const folder = mkdtempSync(join(tmpdir(), "usage-"));
  let server: ClickHouseServer;
  beforeAll(async () => {
    server = await startClickHouse();
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The stores that can be reached, by their holders' ids, and what happens to a call on its way. */
  class Network {
    readonly stores = new Map<string, ClickHouseUsage>();
    onWay: (call: string, perform: () => Promise<unknown>) => Promise<unknown> = (_, perform) => perform();
    passed = 0;

    readonly passOn: PassOn = async ({ id }, call, input) => {
      this.passed++;
      const store = this.stores.get(id);
      if (store === undefined) throw new NoAnswerError();
      // Events of tests know their usage as a bigint, too.
      const sent = JSON.parse(
        JSON.stringify(input, (_, value) => (typeof value === "bigint" ? undefined : value)),
      );
      try {
        return (await this.onWay(call, () => store.lanes.asOwner(call, sent))) as never;
      } catch (error) {
        throw error instanceof NotOwnerError ? new NoAnswerError() : error;
      }
    };

    async open(url: string, rows: MemoryRows, id: string, more: Partial<ClickHouseOptions> = {}) {
      const store = await openClickHouse({
        url,
        lanes: LANES,
        openRows: async () => rows,
        holder: { id, url: `http://${id}` },
        folder,
        rest_ms: [0, 0],
        group_ms: 0,
        passOn: this.passOn,
        takes_share: false,
        ...more,
      });
      this.stores.set(id, store);
      return store;
    }
  }

  /** An owner of all lanes, and another that owns none. */
  async function ownerAndOther() {
    const [url, rows, network] = [await server.createDatabase(), new MemoryRows(LANES), new Network()];
    const owner = await network.open(url, rows, "owner");
    while (owner.lanes.owned < LANES) await Bun.sleep(5);
    const other = await network.open(url, rows, "other");
    while (other.lanes.otherOwnerOf(1) === undefined) await Bun.sleep(5);
    return {
      url,
      rows,
      network,
      owner,
      other,
      close: () => Promise.all([other.close(), owner.close()]),
    };
  }
  const count = async (store: ClickHouseUsage, company_id: number) =>
    (await store.search({ ...FIRST_PAGE, company_id }, TIMEOUT_MS)).total;

  test("answer an append as the owner does, whichever is asked", async () => {
    const { owner, other, network, close } = await ownerAndOther();
    const [first, second] = [modelEvent({ usage: "1.5" }), modelEvent()];
    expect(await other.append(1, [first], NOW_MS)).toEqual({ accepted: 1, duplicates: 0 });
    expect(await owner.append(1, [first, second], NOW_MS)).toEqual({ accepted: 1, duplicates: 1 });
    expect(await other.append(1, [second], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
    const conflict = [{ ...first, usage: "2" }, second];
    const [here, there] = [
      await failure(owner.append(1, conflict, NOW_MS)),
      await failure(other.append(1, conflict, NOW_MS)),
    ];
    expect([there.kind, there.message, there.details]).toEqual([here.kind, here.message, here.details]);
    expect([await count(other, 1), network.passed]).toEqual([2, 3]);
    await close();
  });

  test("store once what broke on its way, before it arrived or after it was stored", async () => {
    const { other, network, close } = await ownerAndOther();
    const lost: string[] = [];
    network.onWay = async (_, perform) => {
      if (lost.length === 0) {
        lost.push("request");
        throw new NoAnswerError();
      }
      const answer = await perform();
      if (lost.length === 1) {
        lost.push("answer");
        throw new NoAnswerError();
      }
      return answer;
    };
    expect(await other.append(1, [modelEvent()], NOW_MS)).toEqual({ accepted: 0, duplicates: 1 });
    expect([lost, await count(other, 1)]).toEqual([["request", "answer"], 1]);
    await close();
  });

  test("refuse by 503 what no owner answers for five seconds", async () => {
    const { other, network, close } = await ownerAndOther();
    network.onWay = () => Promise.reject(new NoAnswerError());
    expect(await failure(other.append(1, [modelEvent()], NOW_MS))).toMatchObject({
      kind: "unavailable",
      message: "Cannot store events now: the instance that stores the company's usage does not answer",
      retry_after_s: 5,
    });
    network.onWay = (_, perform) => perform();
    await close();
  });

  test("let what is passed on go to the owner after the one that stops", async () => {
    const { owner, other, network, close } = await ownerAndOther();
    network.onWay = async (_, perform) => {
      const moved = perform();
      if (network.passed === 1) void owner.close();
      return moved;
    };
    const events = Array.from({ length: 5 }, () => modelEvent());
    for (const event of events) await other.append(1, [event], NOW_MS);
    expect([await count(other, 1), other.lanes.owns(1)]).toEqual([5, true]);
    expect(await other.append(1, events, NOW_MS)).toEqual({ accepted: 0, duplicates: 5 });
    await close();
  });

  test("close, remove and erase at the owner, and see what others removed", async () => {
    const { owner, other, close } = await ownerAndOther();
    const old = Array.from({ length: 3 }, (_, i) => modelEvent({ timestamp: i * HOUR_MS, usage: "2" }));
    const kept = modelEvent({
      timestamp: 10 * HOUR_MS,
      usage: "5",
      metadata: canonicalJson({ secret: "x" }),
    });
    await other.append(1, [...old, kept], NOW_MS);
    await other.closeBefore(1, 10 * HOUR_MS);
    expect([owner.sinceOf(1), other.sinceOf(1)]).toEqual([10 * HOUR_MS, 10 * HOUR_MS]);
    const refused = await failure(owner.append(1, [modelEvent({ timestamp: 0 })], NOW_MS));
    expect(refused.kind).toBe("invalid");
    // This one removes, so that the other has only heard of the close.
    expect(await owner.removeClosed(1, 100)).toBe(3);
    expect(await count(other, 1)).toBe(1);
    const windows = [{ subscription_id: old[0]?.subscription_id ?? 0, start_ms: 0, end_ms: 20 * HOUR_MS }];
    expect((await failure(other.totals(1, windows, { timeout_ms: TIMEOUT_MS }))).kind).toBe("conflict");
    await other.erase(1, [kept.id]);
    const { rows } = await owner.search({ ...FIRST_PAGE, company_id: 1 }, TIMEOUT_MS);
    expect(JSON.stringify(rows)).not.toContain("secret");
    await close();
  });

  test("are told by an answer of what was removed while it was asked for", async () => {
    const { owner, other, close } = await ownerAndOther();
    const event = modelEvent({ timestamp: HOUR_MS, usage: "2" });
    await owner.append(1, [event], NOW_MS);
    await owner.closeBefore(1, 2 * HOUR_MS);
    await owner.removeClosed(1, 100);
    // What it was told at its start is that nothing was closed.
    const windows = [{ subscription_id: event.subscription_id, start_ms: 0, end_ms: 3 * HOUR_MS }];
    expect(await other.sums(1, windows, TIMEOUT_MS)).toEqual(await owner.sums(1, windows, TIMEOUT_MS));
    expect((await other.sums(1, windows, TIMEOUT_MS)).map(({ event_count }) => event_count)).toEqual([1]);
    expect((await failure(other.totals(1, windows, { timeout_ms: TIMEOUT_MS }))).kind).toBe("conflict");
    await close();
  });

  test("are certain of running totals where they own the lane, and nowhere else", async () => {
    const { owner, other, close } = await ownerAndOther();
    const event = modelEvent({ timestamp: 1_000, usage: "2" });
    const { subscription_id } = event;
    const watch = {
      company_id: 1,
      subscription_id,
      meter: ALL_USAGE,
      per: null,
      since_ms: 0,
      from_ms: 0,
      calendar: {
        name: "all",
        at: () => ({ start_ms: 0, end_ms: Number.MAX_SAFE_INTEGER, whole_ms: Number.MAX_SAFE_INTEGER }),
      },
    };
    const [here] = owner.running_totals.watch([watch]);
    const [there] = other.running_totals.watch([watch]);
    await other.append(1, [event], NOW_MS);
    await owner.running_totals.counted();
    expect(here?.at(1_000)).toEqual({ quantity: "2", certain: true });
    await other.running_totals.counted();
    expect(there?.at(1_000).certain).toBe(false);
    await owner.close();
    expect(here?.at(1_000).certain).toBe(false);
    while (!other.lanes.owns(1)) await Bun.sleep(5);
    await other.running_totals.counted();
    expect(there?.at(1_000)).toEqual({ quantity: "2", certain: true });
    await other.append(1, [modelEvent({ subscription_id, timestamp: 2_000, usage: "3" })], NOW_MS);
    expect(there?.at(1_000)).toEqual({ quantity: "5", certain: true });
    await close();
  });

  test("hear of lanes before these serve, and when they serve no more", async () => {
    const [url, rows, network] = [await server.createDatabase(), new MemoryRows(LANES), new Network()];
    const heard: string[] = [];
    const store = await network.open(url, rows, "owner", {
      watcher: {
        taken: async (isOf) => void heard.push(`taken ${[0, 1, 2, 3].filter(isOf).join()}`),
        lost: (isOf) => void heard.push(`lost ${[0, 1, 2, 3].filter(isOf).join()}`),
      },
    });
    await store.append(3, [modelEvent()], NOW_MS);
    await store.append(2, [modelEvent()], NOW_MS);
    expect(heard.toSorted()).toEqual(["taken 0,2", "taken 1,3"]);
    await store.close();
    expect(new Set(heard)).toEqual(new Set(["taken 0,2", "taken 1,3", "lost 0,2", "lost 1,3"]));
  });
});
