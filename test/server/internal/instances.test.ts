import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import postgres from "postgres";
import { create } from "../../billing/subscriptions/fixtures.ts";
import { type Deployment, makeDeployment } from "../../support/deployment.ts";
import { type Answer, type Api, apiOf } from "../../support/harness.ts";
import type { ServerProcess } from "../../support/process.ts";
import { whyNoUsageOnClickHouse } from "../../support/usage_on_clickhouse.ts";
import { addSubscription, ms, search } from "../../usage/fixtures.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

const AT = ms("2026-01-01T00:00:00Z");
const EXTERNAL = { external_subscription_id: "sub" };

describe.skipIf(reason !== null)("two instances", () => {
  let deployment: Deployment;
  let instances: [ServerProcess, ServerProcess];
  let apis: [Api, Api];
  beforeAll(async () => {
    deployment = await makeDeployment(2);
    const first = await deployment.start();
    instances = [first, await deployment.start()];
    apis = [await instances[0].signIn(), await instances[1].signIn()];
    const api = apis[0];
    const { id } = await addSubscription({ api }, "sub");
    await create(api, "/features", { code: "tokens", name: "Tokens", kind: "limit" });
    await api("PUT", `/subscriptions/${id}/entitlements/tokens`, {
      limit: 1_000,
      window: "life",
      hard: true,
    });
    await deployment.shared(...instances);
  }, 120_000);
  afterAll(() => deployment?.stop());

  /** All events of no usage that were ever sent. */
  const zeros = new Set<string>();

  const event = (id: string, usage = 1) => ({ ...EXTERNAL, id, usage, timestamp: AT });
  const send = (api: Api, body: unknown) => api("POST", "/usage/events", body);
  const check = (api: Api, more = {}) =>
    api("POST", "/usage/check", { ...EXTERNAL, feature: "tokens", ...more });
  /** What is used, once it is counted. */
  const usedBy = async (api: Api): Promise<string> => {
    const { used, certain } = (await check(api)).body.data;
    return certain ? used : usedBy(api);
  };
  const shown = ({ status, body, headers }: Answer) => ({
    status,
    body,
    retry_after: headers.get("retry-after"),
  });

  test("answer alike, whichever owns the company's lane", async () => {
    const [one, two] = [crypto.randomUUID(), crypto.randomUUID()];
    for (const [i, api] of apis.entries()) {
      const fresh = [event(crypto.randomUUID()), event(crypto.randomUUID())];
      expect((await send(api, fresh)).body).toEqual({ data: { accepted: 2, duplicates: 0 } });
      expect((await send(apis[1 - i] as Api, fresh)).body).toEqual({ data: { accepted: 0, duplicates: 2 } });
    }
    await send(apis[0], event(one));
    const refusals: [unknown, number][] = [
      [event(one, 2), 409],
      [[event(two), event(one, 2)], 409],
      [{ ...event(two), usage: "x" }, 422],
      [{ ...event(two), external_subscription_id: "nobody" }, 422],
    ];
    for (const [body, status] of refusals) {
      const [here, there] = [await send(apis[0], body), await send(apis[1], body)];
      expect(here.status).toBe(status);
      expect(shown(there)).toEqual(shown(here));
    }
    const totals = await Promise.all(apis.map(async (api) => (await search(api, {})).meta.total));
    expect(totals[0]).toEqual(totals[1]);
  });

  test("count and hold for limits together", async () => {
    const used = Number(await usedBy(apis[0]));
    expect((await check(apis[1])).body).toEqual((await check(apis[0])).body);
    const left = 1_000 - used;
    const holds = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        check(apis[i % 2] as Api, { units: Math.floor(left / 3), reserve_s: 600 }),
      ),
    );
    const reserved = holds.map(({ body }) => body.data.reservation?.id).filter((id) => id !== undefined);
    expect([reserved.length, holds.filter(({ body }) => body.data.allowed).length]).toEqual([3, 3]);
    const [settled, freed, other] = reserved;
    for (const api of apis) {
      const answer = await api("POST", "/usage/events", {
        ...event(other, 1),
        external_subscription_id: "sub2",
      });
      expect(answer.status).toBe(422);
    }
    // Each by the instance that did not own it, and by the one that did.
    expect((await send(apis[0], event(settled, 7))).status).toBe(201);
    expect((await send(apis[1], event(other, 5))).status).toBe(201);
    expect((await apis[1]("DELETE", `/usage/reservations/${freed}`)).status).toBe(200);
    expect((await apis[0]("DELETE", `/usage/reservations/${freed}`)).status).toBe(404);
    for (const api of apis)
      expect((await check(api)).body.data).toMatchObject({
        used: String(used + 12),
        reserved: "0",
        certain: true,
      });
    const uses = await Promise.all(apis.map((api) => api("GET", "/subscriptions/1/entitlements")));
    expect(uses[0]?.body).toEqual(uses[1]?.body);
  });

  test("set a spend limit by what was rated, and change a feature, whichever is asked", async () => {
    const path = "/subscriptions/1/spend-limit";
    const limit = { amount: 1_000_000 };
    await apis[0]("PUT", path, limit);
    while ((await apis[0]("GET", path)).body.data.spent === null) await Bun.sleep(50);
    for (const api of apis) {
      const set = await api("PUT", path, limit);
      expect([set.status, set.body.data.spent]).toEqual([200, expect.any(String)]);
      expect((await api("PUT", "/features/1", { name: "Tokens" })).status).toBe(200);
    }
    expect((await apis[1]("DELETE", path)).status).toBe(200);
  });

  test("store each event once, and all that they answer, when the database's clock is set", async () => {
    const sql = postgres(deployment.settings.DATABASE_URL ?? "", { max: 1, fetch_types: false });
    const listEpochs = () => sql`SELECT epoch FROM usage_lanes ORDER BY lane`.then((rows) => [...rows]);
    const isOwned = async () =>
      (await sql`SELECT FROM usage_lanes WHERE expires_at < clock_timestamp()`).length === 0;
    const epochs = await listEpochs();
    const sent = new Set<string>();
    for (const by of ["1 hour", "10 seconds"]) {
      // As after a step of an hour: the time of all owners is over, and they don't know.
      await sql`UPDATE usage_lanes SET expires_at = clock_timestamp() - ${by}::interval`;
      while (!(await isOwned()))
        for (const api of apis) {
          const id = crypto.randomUUID();
          expect((await send(api, event(id, 0))).status).toBe(201);
          sent.add(id);
        }
    }
    expect(await listEpochs()).toEqual(epochs);
    const again = await send(
      apis[0],
      [...sent].map((id) => event(id, 0)),
    );
    expect(again.body.data).toEqual({ accepted: 0, duplicates: sent.size });
    for (const id of sent) zeros.add(id);
    await sql.end();
  }, 60_000);

  test("refuse strangers at what is theirs alone", async () => {
    const anonymous = apiOf(instances[0].url, {});
    for (const name of ["append", "erase", "call"])
      expect(await anonymous("POST", `origin:/internal/${name}`, {})).toMatchObject({
        status: 401,
        body: { error: "This path is for other instances alone" },
      });
    expect((await apis[0]("POST", "origin:/internal/append", {})).status).toBe(401);
    expect((await anonymous("POST", "origin:/internal/others", {})).status).toBe(404);
    expect((await anonymous("GET", "origin:/openapi.json")).body.paths).not.toHaveProperty(
      "/internal/append",
    );
  });

  test("hand lanes over in a roll-out without refusing an event", async () => {
    const sent: string[] = [];
    const ending = new AbortController();
    const sender = (async () => {
      while (!ending.signal.aborted) {
        const id = crypto.randomUUID();
        const answer = await send(apis[0], event(id));
        expect([answer.status, answer.body.error]).toEqual([201, undefined]);
        sent.push(id);
      }
    })();
    instances[1].kill("SIGTERM");
    expect(await instances[1].exited).toBe(0);
    const next = await deployment.start();
    instances = [instances[0], next];
    apis = [apis[0], await next.signIn()];
    await deployment.shared(...instances);
    ending.abort();
    await sender;
    const again = await send(
      apis[1],
      sent.slice(0, 1_000).map((id) => event(id)),
    );
    expect(again.body.data).toEqual({ accepted: 0, duplicates: Math.min(sent.length, 1_000) });
  }, 120_000);

  test.each([0, 1] as const)(
    "lose and double nothing when one is killed among events, checks and reservations: %i",
    async (killed) => {
      const survivor = apis[1 - killed] as Api;
      const before = Number(await usedBy(survivor));
      const answered = new Set<string>();
      const sent = new Set<string>();
      const ending = new AbortController();
      const work = async (api: Api) => {
        for (;;) {
          const id = crypto.randomUUID();
          sent.add(id);
          try {
            const { status } = await send(api, event(id, 0));
            if (status === 201) answered.add(id);
            else if (status !== 503) throw new Error(`status ${status}`);
            await check(api, { units: 1, reserve_s: 1 });
          } catch {
            // It was killed.
            return;
          }
          if (ending.signal.aborted) return;
        }
      };
      const workers = [...apis, ...apis].map(work);
      while (answered.size < 40) await Bun.sleep(5);
      instances[killed].kill("SIGKILL");
      await instances[killed].exited;
      // Its lanes are free after ten seconds.
      while ((await deployment.lanesOf(instances[1 - killed] as ServerProcess)) < 2) await Bun.sleep(50);
      ending.abort();
      await Promise.all(workers);
      const all = [...sent];
      let stored = 0;
      for (let i = 0; i < all.length; i += 500) {
        const { body, status } = await send(
          survivor,
          all.slice(i, i + 500).map((id) => event(id, 0)),
        );
        expect(status).toBe(201);
        stored += body.data.duplicates;
      }
      expect(stored).toBeGreaterThanOrEqual(answered.size);
      for (const id of all) zeros.add(id);
      // All is there, once.
      const { body } = await survivor("POST", "/usage/search", { min_usage: 0, max_usage: 0, limit: 1 });
      expect(body.meta.total).toBe(zeros.size);
      expect(Number(await usedBy(survivor))).toBe(before);
      const next = await deployment.start();
      instances[killed] = next;
      apis[killed] = await next.signIn();
      await deployment.shared(...instances);
    },
    180_000,
  );
});
