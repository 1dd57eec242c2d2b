import { expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { insertClient } from "../../src/tenancy/clients/queries.ts";
import { clientTable } from "../../src/tenancy/clients/tables.ts";
import { batchedRead } from "../../src/store/batched_read.ts";
import { buildApp } from "../../src/server/http_app.ts";
import { PASSWORD, TEST_STORE, useService } from "../support/harness.ts";

const service = useService();

/** Counts a company's clients, and tells of each read what it was asked for. */
function counting() {
  const reads: { company_id: number; keys: string[] }[] = [];
  const count = batchedRead(async (q, company_id: number, keys: string[]) => {
    reads.push({ company_id, keys });
    if (keys.includes("fail")) throw new Error("Cannot count");
    return q.$count(q.use(clientTable), eq(q.use(clientTable).company_id, company_id));
  });
  return {
    reads,
    count: (company_id: number, ...keys: string[]) => count(service.deps.store.read, company_id, keys),
    countIn: count,
  };
}

test("what is asked for in one turn is read once, by group, with the keys of all", async () => {
  const { reads, count } = counting();
  const other = await service.addTenant();
  const { company_id: a } = service;
  const { company_id: b } = other;
  await Promise.all([count(a, "x", "y"), count(b, "x"), count(a, "y", "z"), count(a)]);
  expect(reads).toEqual([
    { company_id: a, keys: ["x", "y", "z"] },
    { company_id: b, keys: ["x"] },
  ]);
  await count(a, "x");
  expect(reads.length).toBe(3);
});

test("each asker sees what was committed before it asked", async () => {
  const { count } = counting();
  const { company_id, api } = await service.addTenant();
  for (const expected of [1, 2, 3]) {
    await api("POST", "/clients", { name: `Client ${expected}` });
    expect(await count(company_id)).toBe(expected);
  }
});

test("what is asked for while a read runs is read anew", async () => {
  const started: PromiseWithResolvers<void>[] = [];
  const ended: PromiseWithResolvers<number>[] = [];
  const read = batchedRead((_q, _same: string) => {
    started[ended.length]?.resolve();
    ended.push(Promise.withResolvers<number>());
    return ended.at(-1)?.promise ?? Promise.resolve(0);
  });
  started.push(Promise.withResolvers(), Promise.withResolvers());
  const first = read(service.deps.store.read, "same");
  await started[0]?.promise;
  const second = read(service.deps.store.read, "same");
  await started[1]?.promise;
  ended[1]?.resolve(2);
  ended[0]?.resolve(1);
  expect([await first, await second]).toEqual([1, 2]);
});

test("a read that fails fails for all who asked, and for nobody after", async () => {
  const { count } = counting();
  const { company_id } = service;
  const asked = await Promise.allSettled([count(company_id, "x"), count(company_id, "fail")]);
  expect(asked.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await count(company_id, "x")).toBeNumber();
});

test("a transaction reads for itself", async () => {
  const { company_id } = await service.addTenant();
  const scope = { company_id };
  const count = batchedRead((q, id: number) =>
    q.$count(q.use(clientTable), eq(q.use(clientTable).company_id, id)),
  );
  const counts = await service.deps.store.tx(async (q) => {
    await insertClient({ q, scope, now: service.deps.clock.now() }, "Inside");
    return Promise.all([count(q, company_id), count(service.deps.store.read, company_id)]);
  });
  expect(counts).toEqual([1, 0]);
});

test("a transaction reads at once, by itself: the event loop does not turn while it is open", async () => {
  const { reads, countIn, count } = counting();
  const { company_id, deps } = service;
  let has_turned = false;
  const outside = count(company_id, "outside");
  await deps.store.tx(async (q) => {
    const turn = setImmediate(() => {
      has_turned = true;
    });
    await countIn(q, company_id, ["inside", "inside"]);
    if (deps.store.dialect === "sqlite") expect(has_turned).toBe(false);
    clearImmediate(turn);
  });
  await outside;
  expect(reads).toContainEqual({ company_id, keys: ["inside"] });
  expect(reads).toContainEqual({ company_id, keys: ["outside"] });
});

test.if(TEST_STORE === "sqlite")(
  "a list is answered in the turn of its request, which waits for no others",
  async () => {
    const app = buildApp(service.deps);
    const { token } = (
      await service.anonymous("POST", "/login", { email: service.admin_email, password: PASSWORD })
    ).body;
    const ask = async (path: string) => {
      let has_turned = false;
      const turn = setImmediate(() => {
        has_turned = true;
      });
      const headers = { authorization: `Bearer ${token}` };
      const response = await app.handle(new Request(`http://localhost/api/v1${path}`, { headers }));
      clearImmediate(turn);
      return { status: response.status, has_turned };
    };
    // The token's signature is verified at its first use only.
    await ask("/me");
    for (const path of ["/clients", "/subscriptions?limit=1"])
      expect(await ask(path)).toEqual({ status: 200, has_turned: false });
    expect(await ask("/me")).toEqual({ status: 200, has_turned: true });
  },
);
