import { beforeAll, expect, test } from "bun:test";
import type { Api, Json } from "../../support/harness.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;
let other: Company;
let second_client: number;
/** Two periods and an adjustment of the first client's, one period of the second's. */
let first: number;
let second: number;

beforeAll(async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  company = await billing.addCompany();
  other = await billing.addCompany();
  second_client = await company.addClient();
  first = await company.subscribe(PER_UNIT, { started_at: "2024-02-10T00:00:00Z" });
  second = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z", client_id: second_client });
  await company.run();
  billing.clock.set("2024-04-02T00:00:00Z");
  await company.use(first, ["2024-02-20T00:00:00Z", "4"]);
  await company.run({ period: "2024-02" });
  await other.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
  await other.run();
});

async function list(api: Api, path: string): Promise<Json[]> {
  const { status, body } = await api("GET", path);
  expect(status).toBe(200);
  return body.data;
}

const told = (records: Json[]) =>
  records.map((record) => [record.subscription_id, record.kind, record.billingStartAt.slice(0, 7)]);

test("records are listed last written first, without lines, with the company's own only", async () => {
  const { body } = await company.api("GET", "/billing-records");
  expect(told(body.data)).toEqual([
    [first, "adjustment", "2024-02"],
    [second, "period", "2024-03"],
    [first, "period", "2024-03"],
    [first, "period", "2024-02"],
  ]);
  expect(body.meta).toEqual({ page: 1, limit: 20, total: 4, total_pages: 1 });
  expect(body.data[0]).not.toHaveProperty("lines");
  expect(body.data[0]).toMatchObject({
    billedUnits: 4,
    totalCharges: "2.00",
    adjusts_billing_record_id: body.data[3].id,
    company_id: company.company_id,
  });
  const page = await company.api("GET", "/billing-records?page=2&limit=3");
  expect(told(page.body.data)).toEqual([[first, "period", "2024-02"]]);
  expect(page.body.meta).toEqual({ page: 2, limit: 3, total: 4, total_pages: 2 });
});

test("records are filtered by subscription, client and kind", async () => {
  const of = async (query: string) => told(await list(company.api, `/billing-records?${query}`)).length;
  expect(await of(`subscription_id=${first}`)).toBe(3);
  expect(await of(`client_id=${second_client}`)).toBe(1);
  expect(await of("kind=adjustment")).toBe(1);
  expect(await of(`kind=period&client_id=${company.client_id}`)).toBe(2);
  expect(await of(`subscription_id=${second}&client_id=${company.client_id}`)).toBe(0);
  expect(await of("subscription_id=9007199254740991")).toBe(0);
  expect(await of(`client_id=${other.client_id}`)).toBe(0);
});

test("a record is read with its lines and its subscription", async () => {
  const [summary] = await list(company.api, `/billing-records?client_id=${second_client}`);
  const { status, body } = await company.api("GET", `/billing-records/${summary.id}`);
  expect(status).toBe(200);
  const { subscription, lines, ...record } = body.data;
  expect(record).toEqual(summary);
  expect(lines).toMatchObject([{ kind: "fee", amount: "31.00" }]);
  expect(subscription).toMatchObject({ id: second, client_id: second_client, status: "active" });
  const analyst = await company.addUser("analyst");
  expect((await analyst("GET", `/billing-records/${summary.id}`)).status).toBe(200);
});

test("a client user sees its client's records and no others", async () => {
  const client = await company.addUser("client", second_client);
  const mine = await list(client, "/my/billing-records");
  expect(told(mine)).toEqual([[second, "period", "2024-03"]]);
  const read = await client("GET", `/my/billing-records/${mine[0].id}`);
  expect(read.body.data).toMatchObject({ id: mine[0].id, subscription: { id: second } });
  for (const record of await list(company.api, `/billing-records?subscription_id=${first}`)) {
    expect((await client("GET", `/my/billing-records/${record.id}`)).status).toBe(404);
  }
  expect(await list(client, `/my/billing-records?subscription_id=${first}`)).toEqual([]);
  expect(await list(client, "/my/billing-records?kind=adjustment")).toEqual([]);
  expect((await client("GET", `/my/billing-records?client_id=${company.client_id}`)).status).toBe(422);
  expect((await client("GET", "/billing-records")).status).toBe(403);
  expect((await company.api("GET", "/my/billing-records")).status).toBe(403);
});

test("another company's record is not there", async () => {
  const [foreign] = await list(other.api, "/billing-records");
  expect((await company.api("GET", `/billing-records/${foreign.id}`)).status).toBe(404);
  expect((await company.api("GET", "/billing-records/9007199254740991")).status).toBe(404);
});

test("records can't be changed", async () => {
  const [record] = await list(company.api, "/billing-records");
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
    expect((await company.api(method, `/billing-records/${record.id}`, {})).status).toBe(405);
  }
});

test.each(["abc", "0", "-1", "1e3", "9007199254740992"])("the id %s is a 422", async (id) => {
  const answer = await company.api("GET", `/billing-records/${id}`);
  expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
});

test.each([
  "page=0",
  "limit=201",
  "limit=x",
  "kind=refund",
  "subscription_id=1e3",
  "client_id=0",
  "sort=lines",
])("the query %s is refused", async (query) => {
  expect((await company.api("GET", `/billing-records?${query}`)).status).toBe(422);
});
