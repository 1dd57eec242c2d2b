import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { addMachine } from "../../access/api_keys/fixtures.ts";
import { ProcessLimits } from "../../../src/entitlements/live/live_limits.ts";
import { deleteReservations, insertReservation } from "../../../src/entitlements/reservations/queries.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";
import { left, listReserved, reserve } from "./reserving.ts";

const limits = useLimits();
let company: LimitedCompany;

beforeAll(async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  company = await limits.addLimited();
});
beforeEach(() => limits.clock.set("2026-03-10T12:00:00Z"));

describe("reservations", () => {
  test("of three at once two pass; one settles with less: 993 used, 5 reserved, 2 left", async () => {
    const { external } = await company.entitle(MONTHLY);
    await company.send(external, { usage: 990 });
    const asked = await Promise.all(
      [1, 2, 3].map(() => company.check(external, { units: 5, reserve_s: 60 })),
    );
    const allowed = asked.map(({ body }) => body.data).filter((answer) => answer.allowed);
    expect(allowed).toHaveLength(2);
    expect(new Set(allowed.map(({ reserved, remaining }) => `${reserved} ${remaining}`))).toEqual(
      new Set(["5 5", "10 0"]),
    );
    const [{ reservation }] = allowed;
    expect(reservation).toMatchObject({ units: "5", expires_at: "2026-03-10T12:01:00.000Z" });
    for (let i = 0; i < 3; i++) {
      const { status, body } = await company.send(external, {
        id: reservation.id,
        usage: 3,
        timestamp: Date.parse("2026-03-10T12:00:00Z"),
      });
      expect([status, body.data]).toEqual([201, { accepted: i === 0 ? 1 : 0, duplicates: i === 0 ? 0 : 1 }]);
      expect(await left(company, external)).toEqual({ used: "993", reserved: "5", remaining: "2" });
    }
  });

  test("of many at once no more pass than fit, also from several subscriptions", async () => {
    const subscriptions = await Promise.all([1, 2].map(() => company.entitle({ ...MONTHLY, limit: 30 })));
    const asked = await Promise.all(
      Array.from({ length: 80 }, (_, i) =>
        company.check(subscriptions[i % 2]?.external ?? "", { units: 1, reserve_s: 60 }),
      ),
    );
    expect(asked.filter(({ body }) => body.data.allowed)).toHaveLength(60);
    for (const { external } of subscriptions)
      expect(await left(company, external)).toEqual({ used: "0", reserved: "30", remaining: "0" });
  });

  test("end by themselves, and when they are freed", async () => {
    const { external } = await company.entitle(MONTHLY);
    const freed = await reserve(company, external, 10);
    const ended = await reserve(company, external, 20);
    const path = `/usage/reservations/${freed.toUpperCase()}`;
    const other = await limits.addLimited();
    expect((await other.api("DELETE", path)).status).toBe(404);
    expect((await company.api("DELETE", path)).status).toBe(200);
    expect((await company.api("DELETE", path)).status).toBe(404);
    expect((await company.api("DELETE", "/usage/reservations/7")).status).toBe(422);
    expect(await left(company, external)).toEqual({ used: "0", reserved: "20", remaining: "980" });
    limits.clock.set("2026-03-10T12:01:00Z");
    expect(await left(company, external)).toEqual({ used: "0", reserved: "0", remaining: "1000" });
    expect(await listReserved(limits.service)).toContain(ended);
    await runNamedJob(limits.service, "reservations_end");
    expect(await listReserved(limits.service)).not.toContain(ended);
  });

  test("keep their feature, its kind and its meter, until they end, though nothing else names it", async () => {
    const { api } = company;
    const meter = { code: "held", name: "Held", aggregation: "sum" };
    const meter_id = (await api("POST", "/meters", meter)).body.data.id;
    const held = { code: "held", name: "Held", kind: "limit", meter_id };
    const feature = (await api("POST", "/features", held)).body.data;
    const { external, id } = await company.entitle();
    const path = `/subscriptions/${id}/entitlements/held`;
    await api("PUT", path, { limit: 10, window: "month" });
    const asked = { feature: "held", units: 2, reserve_s: 60 };
    const { reservation } = (await company.check(external, asked)).body.data;
    expect((await api("DELETE", path)).status).toBe(200);
    const changes: [method: string, path: string, body: Json, what: string][] = [
      ["DELETE", `/features/${feature.id}`, undefined, `delete feature ${feature.id}`],
      ["PUT", `/features/${feature.id}`, { kind: "switch", meter_id: null }, "change the kind or the meter"],
      ["PUT", `/features/${feature.id}`, { meter_id: company.meter_id }, "change the kind or the meter"],
      [
        "PUT",
        `/meters/${meter_id}`,
        { value: [{ key: "metadata:n" }] },
        `change what meter ${meter_id} counts`,
      ],
    ];
    for (const [method, place, change, what] of changes) {
      const { status, body } = await api(method, place, change && { name: "Held", ...change });
      expect([method, place, status]).toEqual([method, place, 409]);
      expect(body.error).toStartWith(`Cannot ${what}`);
      expect(body.error).toEndWith(
        `: units of feature ${feature.id} are reserved; free them, or wait for their end`,
      );
    }
    expect((await api("PUT", `/features/${feature.id}`, { name: "Named" })).status).toBe(200);
    expect((await api("DELETE", `/usage/reservations/${reservation.id}`)).status).toBe(200);
    for (const [method, place, change] of changes.toReversed())
      expect((await api(method, place, change && { name: "Held", ...change })).status).toBe(200);
  });

  test("that have ended keep the kind of their feature no more, and go on being units of nothing", async () => {
    const { api } = company;
    const feature = (await api("POST", "/features", { code: "lent", name: "Lent", kind: "limit" })).body.data;
    const { external, id } = await company.entitle();
    const path = `/subscriptions/${id}/entitlements/lent`;
    await api("PUT", path, { limit: 10, window: "month" });
    const { reservation } = (await company.check(external, { feature: "lent", units: 2, reserve_s: 60 })).body
      .data;
    await api("DELETE", path);
    const change = { name: "Lent", kind: "switch" };
    limits.clock.set("2026-03-10T12:00:59.999Z");
    expect((await api("PUT", `/features/${feature.id}`, change)).status).toBe(409);
    limits.clock.set("2026-03-10T12:01:00Z");
    expect((await api("PUT", `/features/${feature.id}`, change)).status).toBe(200);
    expect((await company.send(external, { id: reservation.id, usage: 2 })).status).toBe(201);
    await api("PUT", path, {});
    expect((await company.check(external, { feature: "lent" })).body.data).toMatchObject({
      allowed: true,
      reserved: null,
    });
  });

  test("are found by their rows, whichever process made them, until an event of their subscription is stored", async () => {
    const { api } = company;
    const feature = (await api("POST", "/features", { code: "rows", name: "Rows", kind: "limit" })).body.data;
    const [mine, theirs] = [await company.entitle(), await company.entitle()];
    const reservation_ids = [crypto.randomUUID(), crypto.randomUUID()];
    const now = limits.clock.now();
    for (const reservation_id of reservation_ids)
      await limits.service.deps.store.tx((q) =>
        insertReservation(
          { q, now, scope: { company_id: company.company_id } },
          {
            company_id: company.company_id,
            reservation_id,
            subscription_id: mine.id,
            feature_id: feature.id,
            units: "2",
            group: {},
            expires_ms: now.epochMilliseconds + 60_000,
          },
        ),
      );
    const other = (await api("POST", "/features", { code: "rowless", name: "Other", kind: "limit" })).body
      .data;
    const change = { name: "Rows", kind: "switch" };
    expect((await api("PUT", `/features/${other.id}`, change)).status).toBe(200);
    const statuses: number[] = [];
    for (const [{ external }, id] of [
      [theirs, reservation_ids[0]],
      [mine, reservation_ids[1]],
    ] as const) {
      statuses.push((await api("PUT", `/features/${feature.id}`, change)).status);
      expect((await company.send(external, { id, usage: 1 })).status).toBe(201);
    }
    statuses.push((await api("PUT", `/features/${feature.id}`, change)).status);
    await limits.service.deps.store.tx((q) =>
      deleteReservations(q, company.company_id, reservation_ids.slice(0, 1)),
    );
    expect(await listReserved(limits.service)).toContain(reservation_ids[1] ?? "");
    statuses.push((await api("PUT", `/features/${feature.id}`, change)).status);
    expect(statuses).toEqual([409, 409, 409, 200]);
  });

  test("of another subscription refuse an event, alone and in a batch, and store nothing", async () => {
    const [mine, theirs] = [await company.entitle(MONTHLY), await company.entitle(MONTHLY)];
    const id = await reserve(company, mine.external, 10);
    const single = await company.send(theirs.external, { id, usage: 3 });
    expect([single.status, single.body.details]).toEqual([
      409,
      [{ path: "/id", message: "is a reservation of another subscription" }],
    ]);
    const fresh = { external_subscription_id: theirs.external, usage: 1 };
    const batch = await company.api("POST", "/usage/events", [fresh, { ...fresh, id }]);
    expect([batch.status, batch.body.details[0].path]).toEqual([409, "/1/id"]);
    expect((await company.check(theirs.external)).body.data.used).toBe("0");
    expect(await left(company, mine.external)).toEqual({ used: "0", reserved: "10", remaining: "990" });
    limits.clock.set("2026-03-10T12:05:00Z");
    expect((await company.send(theirs.external, { id, usage: 3 })).status).toBe(201);
  });

  test("hold what limits of their group and of all have left", async () => {
    const { external } = await company.entitle(
      { ...MONTHLY, limit: 10, per: "model" },
      { ...MONTHLY, limit: 15 },
    );
    await reserve(company, external, 8, { group: { model: "large" } });
    const of = async (model: string, units: number) =>
      (await company.check(external, { units, group: { model } })).body.data;
    expect(await of("large", 3)).toMatchObject({ allowed: false, limit: "10", reserved: "8" });
    expect(await of("small", 7)).toMatchObject({ allowed: true, limit: "15", remaining: "7" });
    expect(await of("small", 8)).toMatchObject({ allowed: false, limit: "15" });
  });

  test("of an earlier process come back, but those that an event of their subscription settled, erased or not", async () => {
    const { external, id } = await company.entitle(MONTHLY);
    const other = await company.entitle(MONTHLY);
    const { store, usage, background, log, config } = limits.service.deps;
    const { usage_query_timeout_ms } = config;
    const feature_id = (await company.api("GET", "/features")).body.data.find(
      ({ code }: Json) => code === "tokens",
    ).id;
    const [settled, erased, foreign, running] = ["settled", "erased", "foreign", "running"].map(() =>
      crypto.randomUUID(),
    );
    // As a process leaves them that is killed before it deletes the rows of settled ones.
    await company.send(external, { id: settled, usage: 1 });
    await company.send(external, { id: erased, usage: 1, metadata: { person: "Ada" } });
    await usage.erase(company.company_id, [erased ?? ""]);
    await company.send(other.external, { id: foreign, usage: 1 });
    const now = limits.clock.now();
    const expires_ms = now.epochMilliseconds + 60_000;
    await store.tx(async (q) => {
      const tx = { q, now, scope: { company_id: company.company_id } };
      for (const reservation_id of [settled, erased, foreign, running])
        await insertReservation(tx, {
          company_id: company.company_id,
          reservation_id: reservation_id ?? "",
          subscription_id: id,
          feature_id,
          units: "7",
          group: {},
          expires_ms,
        });
    });
    const started = new ProcessLimits({ store, usage, background, log, usage_query_timeout_ms });
    await started.load();
    const held = [settled, erased, foreign, running].map(
      (one) => started.find(company.company_id, one ?? "") !== undefined,
    );
    expect(held).toEqual([false, false, true, true]);
    const left_over = await listReserved(limits.service);
    expect([settled, erased, foreign, running].map((one) => left_over.includes(one ?? ""))).toEqual(held);
  });

  test("are made by gateways, which check and send; others' keys and analysts may not", async () => {
    const { external } = await company.entitle(MONTHLY);
    const body = { external_subscription_id: external, feature: "tokens", reserve_s: 60 };
    const gateway = await addMachine(limits.service, company, "gateway");
    const reserved = await gateway.api("POST", "/usage/check", body);
    expect([reserved.status, reserved.body.data.allowed]).toEqual([200, true]);
    const { id } = reserved.body.data.reservation;
    expect(
      (await gateway.api("POST", "/usage/events", { external_subscription_id: external, id, usage: 2 }))
        .status,
    ).toBe(201);
    const freed = (await gateway.api("POST", "/usage/check", body)).body.data.reservation.id;
    expect((await gateway.api("DELETE", `/usage/reservations/${freed}`)).status).toBe(200);
    expect((await gateway.api("GET", "/features")).status).toBe(403);
    const ingest = await addMachine(limits.service, company, "ingest");
    expect((await ingest.api("POST", "/usage/check", body)).status).toBe(403);
    const analyst = await company.addUser("analyst");
    expect((await analyst("POST", "/usage/check", body)).status).toBe(403);
    expect((await analyst("POST", "/usage/check", { ...body, reserve_s: undefined })).body.data.allowed).toBe(
      true,
    );
  });
});
