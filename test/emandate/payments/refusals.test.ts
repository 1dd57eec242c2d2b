import { beforeAll, describe, expect, test } from "bun:test";
import { type Api, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addMandate, at } from "./fixtures.ts";

// What is wrong with requests about payments and collections, over HTTP.

const clock = new TestClock(at("2026-03-10"));
const service = useService({ clock });
let other: Tenant;
let mandate: number;
let payment: number;
let run: number;

beforeAll(async () => {
  other = await service.addTenant();
  mandate = await addMandate(service.deps, service, null, {
    effective_date: "2026-03-05",
    expiry_date: "2026-09-30",
    max_no_debit: "50",
  });
  payment = (await service.api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "1" })).body.data
    .id;
  run = (await service.api("POST", "/emandate/collections/run", {})).body.data.id;
});

describe("bodies", () => {
  test.each([
    [{}, "/amount"],
    [{ amount: 20 }, "/amount"],
    [{ amount: "abc" }, "/amount"],
    [{ amount: "-1.00" }, "/amount"],
    [{ amount: "1e1" }, "/amount"],
    [{ amount: "10.005" }, "/amount"],
    [{ amount: "0.99" }, "/amount"],
    [{ amount: "30000.01" }, "/amount"],
    [{ amount: "100.01" }, "/amount"],
    [{ amount: "1", due_date: "2026-02-30" }, "/due_date"],
    [{ amount: "1", due_date: "10.03.2026" }, "/due_date"],
    [{ amount: "1", due_date: "2026-3-1" }, "/due_date"],
    [{ amount: "1", due_date: 20260301 }, "/due_date"],
    [{ amount: "1", due_date: "2026-03-04" }, "/due_date"],
    [{ amount: "1", due_date: "1990-01-01" }, "/due_date"],
    [{ amount: "1", due_date: "2026-10-01" }, "/due_date"],
    [{ amount: "1", due_date: "2027-03-11" }, "/due_date"],
    [{ amount: "1", description: " " }, "/description"],
    [{ amount: "1", description: "x".repeat(31) }, "/description"],
    [{ amount: "1", status: "paid" }, "/status"],
    [{ amount: "1", mandate_id: 1 }, "/mandate_id"],
  ])("a debit %j is refused at %s", async (body, path) => {
    const answered = await service.api("POST", `/emandate/mandates/${mandate}/payments`, body);
    expect([answered.status, answered.body.details?.map((one: { path: string }) => one.path)]).toEqual([
      422,
      [path],
    ]);
  });

  test.each([
    [{ date: "2026-02-30" }, "/date"],
    [{ date: "today" }, "/date"],
    [{ date: null }, "/date"],
    [{ force: true }, "/force"],
  ])("a run %j is refused at %s", async (body, path) => {
    const { status, body: answered } = await service.api("POST", "/emandate/collections/run", body);
    expect([status, answered.details?.[0]?.path]).toEqual([422, path]);
  });
});

describe("queries", () => {
  test.each([
    ["/emandate/payments?status=done", "/status"],
    ["/emandate/payments?mandate_id=abc", "/mandate_id"],
    ["/emandate/payments?mandate_id=9007199254740992", "/mandate_id"],
    ["/emandate/payments?from=2026-02-30", "/from"],
    ["/emandate/payments?to=yesterday", "/to"],
    ["/emandate/payments?page=0", "/page"],
    ["/emandate/payments?limit=101", "/limit"],
    ["/emandate/payments?sort=status", "/sort"],
    ["/emandate/collections?page=0", "/page"],
    ["/emandate/collections?limit=101", "/limit"],
    ["/emandate/payments/abc", "/id"],
    ["/emandate/payments/9007199254740992", "/id"],
    ["/emandate/collections/abc", "/id"],
    ["/emandate/collections/0/file", "/id"],
  ])("GET %s is refused at %s", async (path, field) => {
    const { status, body } = await service.api("GET", path);
    expect([status, body.details?.[0]?.path]).toEqual([422, field]);
  });

  test("filters narrow: by state, mandate and the days on which payments are due, both included", async () => {
    const count = async (query: string) =>
      (await service.api("GET", `/emandate/payments?${query}`)).body.meta.total;
    const day = "2026-03-10";
    expect(await count("")).toBe(1);
    expect(await count(`status=submitted&mandate_id=${mandate}&from=${day}&to=${day}`)).toBe(1);
    expect(await count("status=paid")).toBe(0);
    expect(await count("mandate_id=999999")).toBe(0);
    expect(await count("from=2026-03-11")).toBe(0);
    expect(await count("to=2026-03-09")).toBe(0);
  });
});

describe("who may", () => {
  const calls = (): [method: string, path: string, body?: unknown][] => [
    ["GET", `/emandate/payments/${payment}`],
    ["POST", `/emandate/payments/${payment}/retry`],
    ["POST", `/emandate/payments/${payment}/cancel`],
    ["POST", `/emandate/mandates/${mandate}/payments`, { amount: "1" }],
    ["GET", `/emandate/collections/${run}`],
    ["GET", `/emandate/collections/${run}/file`],
  ];
  const results = (api: Api) =>
    api("POST", `/emandate/collections/${run}/results`, "order_no,amount,response_code\r\n", {
      "content-type": "text/csv",
    });

  test("another company's payments, mandates and runs are not there, and not listed", async () => {
    for (const [method, path, body] of calls()) {
      expect([method, path, (await other.api(method, path, body)).status]).toEqual([method, path, 404]);
    }
    expect((await results(other.api)).status).toBe(404);
    for (const path of [
      "/emandate/payments",
      `/emandate/payments?mandate_id=${mandate}`,
      "/emandate/collections",
    ]) {
      expect((await other.api("GET", path)).body.meta.total).toBe(0);
    }
    const { status } = await service.api("GET", `/emandate/payments/${payment}`);
    expect(status).toBe(200);
  });

  test("results of another company's order are rejected", async () => {
    const own = (await other.api("POST", "/emandate/collections/run", {})).body.data.id;
    const csv = `order_no,amount,response_code\r\nD${payment}-1,1.00,00`;
    const { body } = await other.api("POST", `/emandate/collections/${own}/results`, csv, {
      "content-type": "text/csv",
    });
    expect(body.data).toMatchObject({ applied: 0, rejected: 1 });
    const { data } = (await service.api("GET", `/emandate/payments/${payment}`)).body;
    expect(data.status).toBe("submitted");
  });

  test("client users see nothing, analysts change nothing, nobody gets in without a token", async () => {
    const client_id = (await service.api("POST", "/clients", { name: "Acme" })).body.data.id;
    const client = await service.addUser(service, "client", client_id);
    const analyst = await service.addUser(service, "analyst");
    const all = [...calls(), ["GET", "/emandate/payments"], ["GET", "/emandate/collections"]] as const;
    for (const [method, path, body] of all) {
      expect([path, (await client(method, path, body)).status]).toEqual([path, 403]);
      expect([path, (await service.anonymous(method, path, body)).status]).toEqual([path, 401]);
      const { status } = await analyst(method, path, body);
      expect([path, status]).toEqual([path, method === "GET" ? 200 : 403]);
    }
    expect((await results(client)).status).toBe(403);
    expect((await results(analyst)).status).toBe(403);
    expect((await results(service.anonymous)).status).toBe(401);
    expect((await analyst("POST", "/emandate/collections/run", {})).status).toBe(403);
  });
});
