import { beforeAll, beforeEach, describe, expect, spyOn, test } from "bun:test";
import { eq } from "drizzle-orm";
import type { Hold } from "../../../src/app/live_limits.ts";
import { featureTable } from "../../../src/billing/features/tables.ts";
import { insertUnchanged } from "../../../src/entitlements/checks/service.ts";
import { ProcessLimits } from "../../../src/entitlements/live/live_limits.ts";
import {
  deleteReservations,
  insertReservation,
  listRunning,
} from "../../../src/entitlements/reservations/queries.ts";
import type { Tx } from "../../../src/store/store.ts";
import { INSTANCES } from "../../support/harness.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";
import { left, listReserved, reserve } from "./reserving.ts";

// Reservations in the moment in which something else happens.

const limits = useLimits();
/** Of tests that stand between one instance and its stores. */
const onOneInstance = test.skipIf(INSTANCES > 1);
let company: LimitedCompany;

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});
beforeEach(() => limits.clock.set("2026-03-10T12:00:00Z"));

describe("reservations", () => {
  /** A hold of a feature that a process has made, of which this one knows the row alone. */
  const holdOf = (feature_id: number, subscription_id: number): Hold => ({
    company_id: company.company_id,
    reservation_id: crypto.randomUUID(),
    subscription_id,
    feature_id,
    units: "2",
    group: {},
    expires_ms: limits.clock.now().epochMilliseconds + 60_000,
  });
  const inTx = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    limits.service.deps.store.tx((q) =>
      work({ q, now: limits.clock.now(), scope: { company_id: company.company_id } }),
    );

  onOneInstance(
    "that are made while a change asks about those before refuse it; a new name asks nothing",
    async () => {
      const { api } = company;
      const meter = { code: "raced", name: "Raced", aggregation: "sum" };
      const meter_id = (await api("POST", "/meters", meter)).body.data.id;
      const raced = { code: "raced", name: "Raced", kind: "limit", meter_id };
      const feature = (await api("POST", "/features", raced)).body.data;
      const { external, id } = await company.entitle();
      for (const [path, change] of [
        [`/features/${feature.id}`, { kind: "switch", meter_id: null }],
        [`/meters/${meter_id}`, { aggregation: "count" }],
      ] as const) {
        const settled = holdOf(feature.id, id);
        await inTx((given) => insertReservation(given, settled));
        await company.send(external, { id: settled.reservation_id, usage: 1 });
        const made = holdOf(feature.id, id);
        const { usage } = limits.service.deps;
        const findStored = usage.findStored.bind(usage);
        using asked = spyOn(usage, "findStored").mockImplementation(async (...given) => {
          const stored = await findStored(...given);
          await inTx((now) => insertReservation(now, made));
          return stored;
        });
        expect((await api("PUT", path, { name: "Named" })).status).toBe(200);
        expect(asked).not.toHaveBeenCalled();
        const { status, body } = await api("PUT", path, { name: "Raced", ...change });
        expect([path, status, body.error]).toEqual([path, 409, expect.stringContaining("are reserved")]);
        asked.mockRestore();
        await inTx(({ q }) => deleteReservations(q, company.company_id, [made.reservation_id]));
      }
    },
  );

  test("and a change of their feature or its meter at once: of the two one is made", async () => {
    const { api } = company;
    const { id } = await company.entitle();
    for (let i = 0; i < 12; i++) {
      const meter = { code: `once_${i}`, name: "Once", aggregation: "sum" };
      const meter_id = (await api("POST", "/meters", meter)).body.data.id;
      const given = { code: `once_${i}`, name: "Once", kind: "limit", meter_id };
      const feature = (await api("POST", "/features", given)).body.data;
      const asked = { feature, meter: (await api("GET", `/meters/${meter_id}`)).body.data };
      const hold = holdOf(feature.id, id);
      const change =
        i % 2 === 0
          ? () => api("PUT", `/features/${feature.id}`, { name: "Once", kind: "switch", meter_id: null })
          : () => api("PUT", `/meters/${meter_id}`, { name: "Once", aggregation: "count" });
      const [{ status }, is_held] = await Promise.all([
        change(),
        inTx((held) => insertUnchanged(held, hold, asked)),
      ]);
      expect([status, is_held]).toEqual(is_held ? [409, true] : [200, false]);
      await inTx(({ q }) => deleteReservations(q, company.company_id, [hold.reservation_id]));
    }
  });

  onOneInstance("are decided anew where their feature was changed before they are on record", async () => {
    const { api } = company;
    const feature = (await api("POST", "/features", { code: "anew", name: "Anew", kind: "limit" })).body.data;
    const { external, id } = await company.entitle();
    await api("PUT", `/subscriptions/${id}/entitlements/anew`, { limit: 10, window: "month" });
    const asked = { feature: "anew", units: 2, reserve_s: 60 };
    expect((await company.check(external, { feature: "anew" })).body.data).toMatchObject({ allowed: true });
    const { store } = limits.service.deps;
    const inTransaction = store.tx.bind(store);
    using changed = spyOn(store, "tx").mockImplementationOnce(async (work) => {
      await inTransaction((q) => {
        const t = q.use(featureTable);
        return q.update(t).set({ kind: "switch" }).where(eq(t.id, feature.id));
      });
      return inTransaction(work);
    });
    const { status, body } = await company.check(external, asked);
    expect([status, body.details?.[0].path]).toEqual([422, "/reserve_s"]);
    expect(changed).toHaveBeenCalled();
    const made = await inTx((given) => listRunning(given, [feature.id]));
    expect(made).toEqual([]);
  });

  onOneInstance(
    "are no answer where another process may have decided before their row was there",
    async () => {
      const { external } = await company.entitle(MONTHLY);
      const known = new Set(await listReserved(limits.service));
      const freed = await reserve(company, external, 10);
      const held = limits.service.deps.limits;
      {
        using decides = spyOn(held, "decides").mockResolvedValue(false);
        const { status, body, headers } = await company.check(external, { units: 5, reserve_s: 60 });
        expect([status, body.error, headers.get("retry-after")]).toEqual([
          503,
          expect.stringContaining("is taking over"),
          "1",
        ]);
        expect((await company.api("DELETE", `/usage/reservations/${freed}`)).status).toBe(503);
        expect((await company.api("DELETE", `/usage/reservations/${freed}`)).status).toBe(503);
        decides.mockRestore();
      }
      // The row stays until its time: whoever took over may have read it.
      expect((await listReserved(limits.service)).filter((id) => !known.has(id))).toHaveLength(1);
      expect(await left(company, external)).toEqual({ used: "0", reserved: "0", remaining: "1000" });
      // A hold that went while its row was written: what takes over counts by the rows that it finds.
      const { store } = limits.service.deps;
      const inTransaction = store.tx.bind(store);
      using lost = spyOn(store, "tx").mockImplementationOnce(async (work) => {
        const done = await inTransaction(work);
        if (held instanceof ProcessLimits) held.drop((company_id) => company_id === company.company_id);
        return done;
      });
      expect((await company.check(external, { units: 5, reserve_s: 60 })).status).toBe(503);
      expect(lost).toHaveBeenCalled();
    },
  );
});
