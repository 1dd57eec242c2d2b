import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import { LIMITS } from "../../src/idempotency/limits.ts";
import { idempotencyKeyTable } from "../../src/idempotency/tables.ts";
import type { Reads } from "../../src/store/store.ts";
import { clientTable } from "../../src/tenancy/clients/tables.ts";
import { type Answer, type Api, interceptTx, type Json, TestClock, useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let keys = 0;

const newKey = () => `key-${++keys}`;
const keyed = (key: string) => ({ "idempotency-key": key });
const replayed = ({ headers }: Answer) => headers.get("idempotent-replayed");

async function names(api: Api, path = "/clients"): Promise<string[]> {
  return (await api("GET", path)).body.data.map(({ name }: Json) => name);
}

async function entries(api: Api, operation: string): Promise<number> {
  return (await api("GET", `/audit-log?operation=${operation}`)).body.meta.total;
}

/** Whether the company has a client: in a transaction, with what it has written so far. */
async function hasClient(q: Reads, company_id: number): Promise<boolean> {
  const t = q.use(clientTable);
  return (await q.$count(t, eq(t.company_id, company_id))) > 0;
}

describe("a repeat", () => {
  test("gets the same status, type and body again, and nothing is done twice", async () => {
    const { api } = await service.addTenant();
    const headers = keyed(newKey());
    const first = await api("POST", "/clients", { name: "Once" }, headers);
    const again = await api("POST", "/clients", { name: "Once" }, headers);
    expect([first.status, replayed(first)]).toEqual([201, null]);
    expect([again.status, replayed(again)]).toEqual([201, "true"]);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(again.headers.get("x-request-id")).not.toBe(first.headers.get("x-request-id"));
    expect(again.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await names(api)).toEqual(["Once"]);
    expect(await entries(api, "create_client")).toBe(1);
  });

  test("that was refused is carried out when its cause is gone, once", async () => {
    const { api } = await service.addTenant();
    const email = `taken${++keys}@example.com`;
    const body = { email, password: "correct horse battery", role: "analyst" };
    const { id } = (await api("POST", "/users", body)).body.data;
    const headers = keyed(newKey());
    const first = await api("POST", "/users", body, headers);
    expect(first).toMatchObject({ status: 422, body: { details: [{ path: "/email" }] } });
    await api("DELETE", `/users/${id}`);
    const again = await api("POST", "/users", body, headers);
    expect([again.status, replayed(again)]).toEqual([201, null]);
    const repeated = await api("POST", "/users", body, headers);
    expect([repeated.status, repeated.body, replayed(repeated)]).toEqual([201, again.body, "true"]);
  });

  test("with another body is a 409, also when only its spelling differs", async () => {
    const { api } = await service.addTenant();
    const headers = keyed(newKey());
    await api("POST", "/clients", '{"name":"A"}', headers);
    for (const body of ['{"name":"B"}', '{"name": "A"}', '{"name":"A"}\n']) {
      const { status, body: answer } = await api("POST", "/clients", body, headers);
      expect([status, answer.error]).toEqual([
        409,
        "The Idempotency-Key was used with another request: a new request needs a new key",
      ]);
    }
    expect(await names(api)).toEqual(["A"]);
  });

  test("of what never began, because its body breaks a rule, may have another body", async () => {
    const { api } = await service.addTenant();
    const headers = keyed(newKey());
    expect((await api("POST", "/clients", { name: "" }, headers)).status).toBe(422);
    expect((await api("POST", "/clients", { name: "Mended" }, headers)).status).toBe(201);
  });

  test("without a key does it again", async () => {
    const { api } = await service.addTenant();
    for (let i = 0; i < 2; i++) await api("POST", "/clients", { name: "Twice" });
    expect(await names(api)).toEqual(["Twice", "Twice"]);
  });
});

describe("a key belongs to", () => {
  test("one user: neither another company nor another user of the company meets it", async () => {
    const one = await service.addTenant();
    const two = await service.addTenant();
    const colleague = await service.addUser(one, "manager");
    const headers = keyed("the-same-key");
    for (const api of [one.api, two.api, colleague]) {
      const answer = await api("POST", "/clients", { name: "Same" }, headers);
      expect([answer.status, replayed(answer)]).toEqual([201, null]);
    }
    expect(await names(one.api)).toEqual(["Same", "Same"]);
    expect(await names(two.api)).toEqual(["Same"]);
    // Another body under the same key tells nothing of the others' either.
    const stranger = await service.addTenant();
    expect((await stranger.api("POST", "/clients", { name: "Other" }, headers)).status).toBe(201);
  });

  test("one path", async () => {
    const { api } = await service.addTenant();
    const headers = keyed("one-key");
    expect((await api("POST", "/clients", { name: "X" }, headers)).status).toBe(201);
    const product = await api("POST", "/products", { name: "X" }, headers);
    expect([product.status, replayed(product)]).toEqual([201, null]);
  });

  test("the rights that the user had: with others it is another request", async () => {
    const { api, ...tenant } = await service.addTenant();
    const manager = await service.addUser({ ...tenant, api }, "manager");
    const { id, email } = (await manager("GET", "/me")).body.data;
    const headers = keyed(newKey());
    expect((await manager("POST", "/clients", { name: "X" }, headers)).status).toBe(201);
    await api("PUT", `/users/${id}`, { email, role: "analyst" });
    const analyst = await service.signIn(email);
    const { status, body } = await analyst("POST", "/clients", { name: "X" }, headers);
    expect([status, JSON.stringify(body)]).toEqual([409, expect.not.stringContaining("created_at")]);
  });
});

describe("keys", () => {
  test.each(["x", "!", "~".repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"'])(
    "may be 1 to 255 visible ASCII characters: %s",
    async (key) => {
      const answer = await service.api("POST", "/clients", { name: "K" }, keyed(key));
      expect(answer.status).toBe(201);
    },
  );

  test.each(["", "a b", "k".repeat(256), "\u00e9"])(
    "others are a 422 that names the header: %j",
    async (key) => {
      const before = (await names(service.api)).length;
      const { status, body } = await service.api("POST", "/clients", { name: "K" }, keyed(key));
      expect([status, body.details]).toEqual([
        422,
        [{ path: "/Idempotency-Key", message: "must be 1 to 255 visible ASCII characters" }],
      ]);
      expect(await names(service.api)).toHaveLength(before);
    },
  );

  test("say nothing on other methods, on sign-in, and where a repeat changes nothing", async () => {
    const { api, admin_email } = await service.addTenant();
    const headers = keyed("k".repeat(300));
    const { id } = (await api("POST", "/clients", { name: "A" })).body.data;
    const login = { email: admin_email, password: "correct horse battery" };
    const answers = [
      await api("GET", "/clients", undefined, headers),
      await api("PUT", `/clients/${id}`, { name: "B" }, headers),
      await api("POST", "/usage/search", {}, headers),
      await api("POST", "/usage/export", { format: "csv" }, headers),
      await api("POST", "/usage/events", [], headers),
      await service.anonymous("POST", "/login", login, headers),
      await api("DELETE", `/clients/${id}`, undefined, headers),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 422, 200, 200]);
    const idempotency_keys = service.deps.store.read.use(idempotencyKeyTable);
    const rows = await service.deps.store.read.select().from(idempotency_keys);
    expect(rows.every(({ path }) => !/login|usage/.test(path))).toBe(true);
  });

  test("are documented where they work, and only there", async () => {
    const { body } = await service.anonymous("GET", "origin:/openapi.json");
    const posts = Object.entries<Json>(body.paths).filter(([, route]) => route.post);
    const takes = ([, { post }]: [string, Json]) =>
      (post.parameters ?? []).some(({ name }: Json) => name === "Idempotency-Key");
    const [documented, others] = [posts.filter(takes), posts.filter((post) => !takes(post))];
    expect(documented.length).toBeGreaterThan(5);
    expect(others.map(([path]) => path).toSorted()).toEqual(
      [
        "/api/v1/agent/applications/{id}/documents",
        "/api/v1/auth/token",
        "/api/v1/billing-models/quote",
        "/api/v1/emandate/callbacks/fpx",
        "/api/v1/emandate/callbacks/fpx/return",
        "/api/v1/emandate/collections/results",
        "/api/v1/emandate/collections/{id}/results",
        "/api/v1/emandate/mandates/results",
        "/api/v1/login",
        "/api/v1/logout",
        "/api/v1/my/subscriptions/{id}/cancel/preview",
        "/api/v1/my/subscriptions/{id}/downgrade/preview",
        "/api/v1/my/subscriptions/{id}/upgrade/preview",
        "/api/v1/my/usage/export",
        "/api/v1/my/usage/exports",
        "/api/v1/my/usage/search",
        "/api/v1/my/usage/series",
        "/api/v1/my/usage/values",
        "/api/v1/subscriptions/{id}/billing-model-changes/preview",
        "/api/v1/subscriptions/{id}/cancel/preview",
        "/api/v1/subscriptions/{id}/downgrade/preview",
        "/api/v1/subscriptions/{id}/upgrade/preview",
        "/api/v1/session",
        "/api/v1/user-links/accept",
        "/api/v1/user-links/read",
        "/api/v1/usage/events",
        "/api/v1/usage/export",
        "/api/v1/usage/exports",
        "/api/v1/usage/import",
        "/api/v1/usage/imports",
        "/api/v1/usage/imports/files",
        "/api/v1/usage/search",
        "/api/v1/usage/series",
        "/api/v1/usage/values",
        "/oauth/authorize",
        "/oauth/register",
        "/oauth/revoke",
        "/oauth/token",
      ].toSorted(),
    );
    for (const [path, { post }] of documented) expect(post.responses, path).toHaveProperty("409");
  });
});

describe("many at once", () => {
  test("of 20 posts with one key one creates; the others get its response or must retry", async () => {
    const { api } = await service.addTenant();
    const headers = keyed(newKey());
    const post = () => api("POST", "/clients", { name: "Raced" }, headers);
    const answers = await Promise.all(Array.from({ length: 20 }, post));
    expect(await names(api)).toEqual(["Raced"]);
    expect(answers.filter((answer) => answer.status === 201 && replayed(answer) === null)).toHaveLength(1);
    const created = answers.find(({ status }) => status === 201);
    for (const answer of answers) {
      if (answer.status === 201) expect(answer.body).toEqual(created?.body);
      else {
        expect([answer.status, answer.body.error]).toEqual([
          409,
          "The request with this Idempotency-Key is in progress: try again",
        ]);
        expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
      }
    }
    expect(await post()).toMatchObject({ status: 201, body: created?.body });
    expect(await entries(api, "create_client")).toBe(1);
  });

  test("keys of their own do not hold each other up", async () => {
    const { api } = await service.addTenant();
    const posts = Array.from({ length: 20 }, (_, i) =>
      api("POST", "/clients", { name: `C${i}` }, keyed(`own-${i}`)),
    );
    expect((await Promise.all(posts)).map(({ status }) => status)).toEqual(posts.map(() => 201));
  });
});

describe("time", () => {
  test("after 24 hours a key is new again, and is deleted in batches", async () => {
    clock.set("2026-04-01T00:00:00Z");
    const tenant = await service.addTenant();
    const headers = keyed(newKey());
    await tenant.api("POST", "/clients", { name: "Day one" }, headers);
    clock.set("2026-04-01T23:59:59.999Z");
    const before = await service.signIn(tenant.admin_email);
    expect(replayed(await before("POST", "/clients", { name: "Day one" }, headers))).toBe("true");
    clock.set("2026-04-02T00:00:00Z");
    const api = await service.signIn(tenant.admin_email);
    const after = await api("POST", "/clients", { name: "Day two" }, headers);
    expect([after.status, replayed(after)]).toEqual([201, null]);

    const idempotency_keys = service.deps.store.read.use(idempotencyKeyTable);
    const rows = () => service.deps.store.read.select().from(idempotency_keys);
    const kept = (await rows()).find(({ company_id }) => company_id === tenant.company_id);
    if (!kept) throw new Error("no key");
    const { id: _, ...row } = { ...kept, expires_at: "2026-04-02T00:00:00.000Z" };
    const copies = Array.from({ length: 1_100 }, (__, i) => ({ ...row, key: `copy-${i}` }));
    await service.deps.store.tx(async (q) => {
      for (let i = 0; i < copies.length; i += 100)
        await q.insert(idempotency_keys).values(copies.slice(i, i + 100));
    });
    await runNamedJob(service, "idempotency_keys_prune");
    const left = await rows();
    expect(left.filter(({ company_id }) => company_id === tenant.company_id)).toEqual([kept]);
    expect(left.filter(({ expires_at }) => expires_at <= "2026-04-02T00:00:00.000Z")).toEqual([]);
    clock.set("2026-03-10T12:00:00Z");
  });

  test("a request that hangs for longer than its claim lives is taken over, and can no longer commit", async () => {
    const tenant = await service.addTenant();
    const headers = keyed(newKey());
    const { promise: let_go, resolve } = Promise.withResolvers<void>();
    const { promise: hangs, resolve: hung } = Promise.withResolvers<void>();
    const change = new Error("rolled back");
    // Takes the change back, and waits outside of the transaction, where it blocks no other.
    const end = interceptTx(service, async (tx, work) => {
      try {
        return await tx(async (q) => {
          const result = await work(q);
          if (await hasClient(q, tenant.company_id)) throw change;
          return result;
        });
      } catch (error) {
        if (error !== change) throw error;
        hung();
        await let_go;
        return tx(work);
      }
    });
    const slow = tenant.api("POST", "/clients", { name: "Slow" }, headers);
    await hangs;
    end();

    const early = await tenant.api("POST", "/clients", { name: "Slow" }, headers);
    expect([early.status, early.headers.get("retry-after")]).toEqual([
      409,
      String(LIMITS.idempotency_retry_s),
    ]);
    clock.set("2026-03-10T12:01:00Z");
    const second = await tenant.api("POST", "/clients", { name: "Slow" }, headers);
    expect(second.status).toBe(201);
    resolve();
    const first = await slow;
    expect([first.status, first.headers.get("retry-after")]).toEqual([409, "1"]);
    expect(await names(tenant.api)).toEqual(["Slow"]);
    const third = await tenant.api("POST", "/clients", { name: "Slow" }, headers);
    expect([third.status, third.body, replayed(third)]).toEqual([201, second.body, "true"]);
    clock.set("2026-03-10T12:00:00Z");
  });
});

describe("what is not kept", () => {
  test("a failure: its key is free again", async () => {
    const { api, company_id } = await service.addTenant();
    const headers = keyed(newKey());
    const end = interceptTx(service, (tx, work) =>
      tx(async (q) => {
        const result = await work(q);
        if (await hasClient(q, company_id)) throw new Error("the disk is full");
        return result;
      }),
    );
    expect((await api("POST", "/clients", { name: "X" }, headers)).status).toBe(500);
    end();
    const again = await api("POST", "/clients", { name: "X" }, headers);
    expect([again.status, replayed(again)]).toEqual([201, null]);
  });

  test("a failure to store the response: the caller has it, a repeat learns that the work was done", async () => {
    const tenant = await service.addTenant();
    const headers = keyed(newKey());
    const { read } = service.deps.store;
    // From when the client is there, whatever else the service writes meanwhile.
    const end = interceptTx(service, async (tx, work) => {
      if (await hasClient(read, tenant.company_id)) throw new Error("the disk is full");
      return tx(work);
    });
    const first = await tenant.api("POST", "/clients", { name: "X" }, headers);
    end();
    expect(first.status).toBe(201);
    clock.set("2026-03-10T12:01:00Z");
    const { status, body } = await tenant.api("POST", "/clients", { name: "X" }, headers);
    clock.set("2026-03-10T12:00:00Z");
    expect([status, body.error]).toEqual([
      409,
      `The request with this Idempotency-Key was carried out (client ${first.body.data.id}), but its response was not stored: look the record up`,
    ]);
    expect(await names(tenant.api)).toEqual(["X"]);
  });

  test("a missing permission: with it the same key works", async () => {
    const { api, ...tenant } = await service.addTenant();
    const analyst = await service.addUser({ ...tenant, api }, "analyst");
    const headers = keyed(newKey());
    for (let i = 0; i < 2; i++) {
      const answer = await analyst("POST", "/clients", { name: "X" }, headers);
      expect([answer.status, replayed(answer)]).toEqual([403, null]);
    }
  });
});
