import { describe, expect, test } from "bun:test";
import { PERMISSIONS, permissionsOf } from "../../src/core/access.ts";
import { auditLogTable } from "../../src/audit/tables.ts";
import {
  type Api,
  interceptTx,
  type Json,
  PASSWORD,
  startService,
  TestClock,
  useService,
} from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

const clock = new TestClock("2026-03-10T12:00:00Z");

const service = useService({ clock });

/** The entries of a company, newest first; sign-ins only where they are asked for. */
async function entries(api: Api, query = ""): Promise<Json[]> {
  const { status, body } = await api("GET", `/audit-log?limit=200${query}`);
  expect(status).toBe(200);
  const wants_logins = query.includes("operation=login");
  return body.data.filter(({ operation }: Json) => wants_logins || operation !== "login");
}

/** The refusals, the oldest first, once there are so many: they are written beside the answer. */
async function refusals(api: Api, count: number): Promise<Json[]> {
  for (;;) {
    const found = (await entries(api)).filter(({ outcome }) => outcome === "refused");
    if (found.length >= count) return found.toReversed();
    await Bun.sleep(5);
  }
}

async function create(api: Api, path: string, body: object): Promise<number> {
  const answer = await api("POST", path, body);
  expect(answer.status).toBe(201);
  return answer.body.data.id;
}

const MODEL = { billing_type_id: 2, name: "A", price: 1, currency: "USD", description: "" };

describe("entries", () => {
  test("a change has its entry with who, when, from where, what was asked and what it was done to", async () => {
    const { api, company_id, admin_email } = await service.addTenant();
    const id = await create(api, "/clients", { name: "Acme" });
    const [entry] = await entries(api);
    const { data: me } = (await api("GET", "/me")).body;
    expect(entry).toEqual({
      id: expect.any(Number),
      company_id,
      at: "2026-03-10T12:00:00.000Z",
      actor: {
        kind: "user",
        user_id: me.id,
        email: admin_email,
        role: "admin",
        authorization_id: null,
        key_id: null,
      },
      origin: "rest",
      address: expect.stringMatching(/127\.0\.0\.1|::1/),
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      operation: "create_client",
      outcome: "ok",
      target: { type: "client", id },
      input: { name: "Acme" },
      withheld: [],
      changes: null,
    });
    expect((await api("GET", `/audit-log/${entry.id}`)).body.data).toEqual(entry);
  });

  test("the request's id is that of the answer", async () => {
    const { headers } = await service.api("POST", "/products", { name: "Tokens" });
    const [entry] = await entries(service.api);
    expect(entry.request_id).toBe(headers.get("x-request-id"));
  });

  test("each change of each kind of record leaves one entry, an update with old and new values", async () => {
    const { api } = await service.addTenant();
    const client_id = await create(api, "/clients", { name: "Acme" });
    const product_id = await create(api, "/products", { name: "Tokens" });
    const billing_model_id = await create(api, "/billing-models", MODEL);
    const ids = { client_id, product_id, billing_model_id };
    const subscription = { name: "S", external_subscription_id: "audited", ...ids };
    const subscription_id = await create(api, "/subscriptions", subscription);
    await api("PUT", `/clients/${client_id}`, { name: "Acme 2" });
    await api("PUT", `/products/${product_id}`, { name: "Tokens 2" });
    await api("PUT", `/billing-models/${billing_model_id}`, { name: "B", description: "x" });
    await api("PUT", `/subscriptions/${subscription_id}`, { name: "S 2" });
    await api("POST", `/subscriptions/${subscription_id}/cancel`, { at: "now" });
    await api("PUT", "/company", { name: "New", timezone: "Asia/Tokyo", currency: "USD" });
    await api("DELETE", `/products/${product_id}`);
    const told = (await entries(api))
      .toReversed()
      .map((entry) => [entry.operation, entry.target.type, entry.target.id, entry.changes]);
    const renamed = (old: string, now: string) => ({ name: { old, new: now } });
    expect(told.slice(1)).toEqual([
      ["create_client", "client", client_id, null],
      ["create_product", "product", product_id, null],
      ["create_billing_model", "billing_model", billing_model_id, null],
      ["create_subscription", "subscription", subscription_id, null],
      ["update_client", "client", client_id, renamed("Acme", "Acme 2")],
      ["update_product", "product", product_id, renamed("Tokens", "Tokens 2")],
      [
        "update_billing_model",
        "billing_model",
        billing_model_id,
        { ...renamed("A", "B"), description: { old: "", new: "x" } },
      ],
      ["update_subscription", "subscription", subscription_id, renamed("S", "S 2")],
      [
        "cancel_subscription",
        "subscription",
        subscription_id,
        expect.objectContaining({ status: { old: "active", new: "cancelled" } }),
      ],
      [
        "update_company",
        "company",
        expect.any(Number),
        expect.objectContaining({ timezone: { old: "UTC", new: "Asia/Tokyo" } }),
      ],
      ["delete_product", "product", product_id, null],
    ]);
  });

  test("the command line's are marked as such: a company begins with its own", async () => {
    const { api, company_id } = await service.addTenant();
    const [first] = await entries(api);
    expect(first).toMatchObject({
      operation: "add_company",
      origin: "cli",
      address: null,
      actor: { kind: "operator", user_id: null, email: null, role: null },
      target: { type: "company", id: company_id },
      withheld: ["/admin_password"],
    });
  });

  test("reads, failures and usage events leave none, what is forbidden one", async () => {
    const { api } = await service.addTenant();
    const client_id = await create(api, "/clients", { name: "Acme" });
    const product_id = await create(api, "/products", { name: "Tokens" });
    const billing_model_id = await create(api, "/billing-models", MODEL);
    const body = { name: "S", external_subscription_id: "x", client_id, product_id, billing_model_id };
    await create(api, "/subscriptions", body);
    const before = await entries(api);
    const analyst = await service.addUser({ company_id: 0, admin_email: "", api }, "analyst");
    expect(await entries(api)).toHaveLength(before.length + 1);
    const answers = [
      await api("POST", "/clients", { name: " " }),
      await api("POST", "/subscriptions", body),
      await api("PUT", "/clients/999999", { name: "x" }),
      await api("DELETE", `/clients/${client_id}`),
      await analyst("POST", "/clients", { name: "x" }),
      await api("GET", "/clients"),
      await api("POST", "/usage/search", {}),
      await api("POST", "/usage/events", { external_subscription_id: "x", usage: 1 }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 422, 404, 409, 403, 200, 200, 201]);
    const [refused] = await refusals(api, 1);
    expect(await entries(api)).toHaveLength(before.length + 2);
    expect(refused).toMatchObject({
      actor: { kind: "user", role: "analyst" },
      operation: "create_client",
      outcome: "refused",
      target: { type: "client", id: null },
      input: { name: "x" },
    });
  });

  test("a change that is undone takes its entry with it", async () => {
    const { api } = await service.addTenant();
    const before = (await entries(api)).length;
    const end = interceptTx(service, (tx, work) =>
      tx(async (q) => {
        await work(q);
        throw new Error("after everything was written");
      }),
    );
    const { status } = await api("POST", "/clients", { name: "Undone" });
    end();
    expect(status).toBe(500);
    expect(await entries(api)).toHaveLength(before);
    expect((await api("GET", "/clients?search=Undone")).body.data).toEqual([]);
  });

  test("no password is ever written down, and that one was given is", async () => {
    const { api } = await service.addTenant();
    const secret = "a very secret password";
    const user = { email: `x${crypto.randomUUID()}@example.com`, password: secret, role: "manager" };
    const id = await create(api, "/users", user);
    await api("PUT", `/users/${id}`, { email: user.email, role: "analyst", password: `${secret} 2` });
    const own = await service.signIn(user.email, `${secret} 2`);
    expect(
      (await own("POST", "/me/password", { current_password: `${secret} 2`, new_password: `${secret} 3` }))
        .status,
    ).toBe(200);
    const [changed, updated, created] = await entries(api);
    expect(created).toMatchObject({ operation: "create_user", withheld: ["/password"] });
    expect(updated).toMatchObject({
      withheld: ["/password"],
      changes: { role: { old: "manager", new: "analyst" } },
    });
    expect(changed).toMatchObject({
      operation: "change_password",
      actor: { user_id: id, role: "analyst" },
      target: { type: "user", id },
      input: {},
      withheld: ["/current_password", "/new_password"],
    });
    expect(JSON.stringify([changed, updated, created])).not.toContain(secret);
  });

  test("a failed sign-in has its entry, with the email and without the password", async () => {
    const { api, admin_email } = await service.addTenant();
    const password = "not the right password";
    expect((await service.anonymous("POST", "/login", { email: admin_email, password })).status).toBe(401);
    let found: Json[] = [];
    const refused = async () =>
      (await entries(api, "&operation=login")).filter(({ outcome }) => outcome === "refused");
    while (found.length === 0) found = await refused();
    expect(found).toMatchObject([
      {
        actor: { kind: "anonymous", user_id: null, email: admin_email, role: null },
        outcome: "refused",
        target: { type: "user" },
        input: { email: admin_email },
        withheld: ["/password"],
      },
    ]);
    expect(JSON.stringify(found)).not.toContain(password);
    await service.signIn(admin_email, PASSWORD);
    expect(await refused()).toHaveLength(1);
  });
});

describe("billing runs", () => {
  test("leave one entry whatever they bill; the hourly one none when it found nothing to do", async () => {
    const { api } = await service.addTenant();
    await runNamedJob(service, "billing_run");
    expect(await entries(api, "&target_type=billing_run")).toEqual([]);

    const client_id = await create(api, "/clients", { name: "Acme" });
    const product_id = await create(api, "/products", { name: "Tokens" });
    const billing_model_id = await create(api, "/billing-models", MODEL);
    const ids = { client_id, product_id, billing_model_id, started_at: "2025-06-01T00:00:00Z" };
    for (const external_subscription_id of ["a", "b", "c"])
      await create(api, "/subscriptions", { name: "S", external_subscription_id, ...ids });
    await runNamedJob(service, "billing_run");
    const { data: runs } = (await api("GET", "/billing-runs")).body;
    expect(runs).toMatchObject([{ status: "finished", counts: { periods: 27 } }]);
    expect(await entries(api, "&target_type=billing_run")).toMatchObject([
      {
        operation: "run_billing",
        origin: "job",
        address: null,
        actor: { kind: "system", user_id: null },
        target: { id: runs[0].id },
      },
    ]);
    await api("POST", "/billing-runs", { period: "2026-01" });
    const told = await entries(api, "&target_type=billing_run");
    expect(told.map(({ origin, input }) => [origin, input])).toEqual([
      ["rest", { period: "2026-01" }],
      ["job", {}],
    ]);
  });
});

describe("who may read", () => {
  test("admins only, and only their own company's", async () => {
    const own = await service.addTenant();
    const other = await service.addTenant();
    const [foreign] = await entries(other.api);
    for (const role of ["manager", "analyst"] as const) {
      const api = await service.addUser(own, role);
      expect((await api("GET", "/audit-log")).status).toBe(403);
      expect((await api("GET", `/audit-log/${foreign.id}`)).status).toBe(403);
      expect(permissionsOf(role)).not.toContain("audit:read");
    }
    const client_id = await create(own.api, "/clients", { name: "Acme" });
    const client = await service.addUser(own, "client", client_id);
    expect((await client("GET", "/audit-log")).status).toBe(403);
    expect((await service.anonymous("GET", "/audit-log")).status).toBe(401);
    expect((await own.api("GET", `/audit-log/${foreign.id}`)).status).toBe(404);
    expect((await entries(own.api)).every(({ company_id }) => company_id === own.company_id)).toBe(true);
    expect(PERMISSIONS).toContain("audit:read");
  });

  test("nothing of it can be written over HTTP", async () => {
    for (const method of ["POST", "PUT", "DELETE"]) {
      const { status } = await service.api(method, method === "POST" ? "/audit-log" : "/audit-log/1", {});
      expect(status).toBe(405);
    }
  });
});

describe("filters", () => {
  test("by user, operation, record, origin and time, in pages", async () => {
    const tenant = await service.addTenant();
    const { api } = tenant;
    clock.set("2026-03-11T00:00:00Z");
    const admin = await service.signIn(tenant.admin_email);
    const manager = await service.addUser({ ...tenant, api: admin }, "manager");
    const { id: manager_id } = (await manager("GET", "/me")).body.data;
    const id = await create(manager, "/clients", { name: "One" });
    clock.set("2026-03-11T01:00:00Z");
    await manager("PUT", `/clients/${id}`, { name: "Two" });
    clock.set("2026-03-10T12:00:00Z");
    const names = async (query: string) => (await entries(api, query)).map(({ operation }) => operation);
    const both = ["update_client", "create_client"];
    expect(await names(`&user_id=${manager_id}`)).toEqual(both);
    expect(await names("&operation=update_client")).toEqual(["update_client"]);
    expect(await names(`&target_type=client&target_id=${id}`)).toEqual(both);
    expect(await names(`&target_type=product&target_id=${id}`)).toEqual([]);
    expect(await names("&target_type=client")).toEqual(both);
    expect(await names("&origin=cli")).toEqual(["add_company"]);
    expect(await names("&from=2026-03-11T01:00:00Z")).toEqual(["update_client"]);
    expect(await names("&from=2026-03-11T00:00:00Z&to=2026-03-11T01:00:00Z")).toEqual([
      "create_client",
      "create_user",
    ]);
    const page = (await api("GET", "/audit-log?page=2&limit=1")).body;
    expect(page.meta).toEqual({ page: 2, limit: 1, total: 7, total_pages: 7 });
    expect(page.data).toMatchObject([{ operation: "create_client" }]);
  });

  test.each([
    ["origin=sms", "/origin"],
    ["user_id=x", "/user_id"],
    ["target_id=1", "/target_type"],
    ["operation=DROP%20TABLE", "/operation"],
    ["from=yesterday", "/from"],
    ["company_id=1", "/company_id"],
  ])("what can't be asked is a 422: %s", async (query, path) => {
    const { status, body } = await service.api("GET", `/audit-log?${query}`);
    expect([status, body.details[0].path]).toEqual([422, path]);
  });
});

test("the daily job deletes what is older than AUDIT_LOG_DAYS, in batches", async () => {
  const own = new TestClock("2026-01-01T00:00:00Z");
  const short = await startService({ clock: own, env: { AUDIT_LOG_DAYS: "30" } });
  const audit_log = short.deps.store.read.use(auditLogTable);
  const [row] = await short.deps.store.read.select().from(audit_log);
  if (!row) throw new Error("no entry");
  const { id: _, ...values } = row;
  const copies = Array.from({ length: 1_100 }, () => ({ ...values, at: "2025-06-01T00:00:00.000Z" }));
  await short.deps.store.tx(async (q) => {
    for (let i = 0; i < copies.length; i += 100) await q.insert(audit_log).values(copies.slice(i, i + 100));
  });
  const total = async () => (await short.api("GET", "/audit-log")).body.meta.total;
  expect(await total()).toBe(1_102);
  own.set("2026-01-31T00:00:00Z");
  await runNamedJob(short, "audit_log_prune");
  const { data } = (await (await short.signIn(short.admin_email))("GET", "/audit-log")).body;
  expect(data.map(({ operation }: Json) => operation)).toEqual(["login", "login", "add_company"]);
  own.set("2026-01-31T00:00:00.001Z");
  await runNamedJob(short, "audit_log_prune");
  expect(
    (await (await short.signIn(short.admin_email))("GET", "/audit-log?operation=add_company")).body.meta
      .total,
  ).toBe(0);
  await short.stop();
});
