import { beforeAll, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;
/** Subscriptions: a flat fee of 31, and one of the same client and another by usage. */
let flat: number;
let used: number;
let other_client: number;
let product_id: number;

beforeAll(async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  company = await billing.addCompany({ currency: "EUR" });
  other_client = await company.addClient();
  product_id = (await company.api("POST", "/products", { name: "Tokens" })).body.data.id;
  flat = await company.subscribe(FLAT, { name: "Fixed" });
  used = await company.subscribe(PER_UNIT, { name: "Used", client_id: other_client, product_id });
  await company.use(used, ["2026-01-10T00:00:00Z", "9"], ["2026-02-10T00:00:00Z", "200.2"]);
  billing.clock.set("2026-03-02T00:00:00Z");
  await company.run();
  // Late usage of January: an adjustment of 2.00.
  await company.use(used, ["2026-01-11T00:00:00Z", "4"]);
  billing.clock.set("2026-03-03T00:00:00Z");
  await company.run({ period: "2026-01" });
});

const list = async (query: string): Promise<Json[]> => {
  const { status, body } = await company.api("GET", `/billing-records?limit=200&${query}`);
  expect(status).toBe(200);
  expect(body.meta.total).toBe(body.data.length);
  return body.data;
};
const bills = async (query: string) =>
  (await list(query)).map(({ subscription_id, billingStartAt, kind, totalCharges }) => [
    subscription_id,
    billingStartAt.slice(0, 7),
    kind,
    totalCharges,
  ]);

test("bills are found by month, client, product, model, run, kind, currency and amount", async () => {
  const january = [
    [used, "2026-01", "adjustment", "2.00"],
    [used, "2026-01", "period", "4.50"],
    [flat, "2026-01", "period", "31.00"],
  ];
  expect((await bills("month=2026-01")).toSorted((a, b) => Number(a[3]) - Number(b[3]))).toEqual(january);
  expect(await bills("from=2026-02-01&to=2026-03-01")).toHaveLength(2);
  expect(await bills(`client_id=${other_client}&month=2026-02`)).toEqual([
    [used, "2026-02", "period", "100.10"],
  ]);
  expect(await bills(`product_id=${product_id}&kind=period`)).toHaveLength(2);
  const [adjustment] = await list("kind=adjustment");
  expect(await bills(`billing_model_id=${adjustment.billing_model_id}`)).toHaveLength(3);
  expect(await bills(`billing_run_id=${adjustment.billing_run_id}`)).toEqual(january.slice(0, 1));
  expect(await bills("currency=EUR")).toHaveLength(5);
  expect(await bills("currency=USD")).toEqual([]);
  expect(await bills("min_amount=4.50&max_amount=31")).toHaveLength(3);
  expect(await bills("min_amount=4.51&max_amount=30.99")).toEqual([]);
  expect(await bills("max_amount=2.0")).toEqual(january.slice(0, 1));
  expect(await bills("min_amount=-5&max_amount=1.999999")).toEqual([]);
});

test("bills are sorted by amount, as numbers, by period, and by when they were written", async () => {
  const amounts = async (query: string) => (await bills(query)).map(([, , , amount]) => amount);
  const rising = ["2.00", "4.50", "31.00", "31.00", "100.10"];
  expect(await amounts("sort=totalCharges")).toEqual(rising);
  expect(await amounts("sort=-totalCharges")).toEqual(rising.toReversed());
  const months = (await bills("sort=billingStartAt")).map(([, month]) => month);
  expect(months).toEqual(["2026-01", "2026-01", "2026-01", "2026-02", "2026-02"]);
  const ids = (await list("sort=id")).map(({ id }) => id);
  expect((await list("")).map(({ id }) => id)).toEqual(ids.toReversed());
  const pages = await Promise.all(
    [1, 2, 3].map(
      async (page) =>
        (await company.api("GET", `/billing-records?sort=totalCharges&limit=2&page=${page}`)).body,
    ),
  );
  expect(pages.flatMap(({ data }) => data).map(({ totalCharges }) => totalCharges)).toEqual(rising);
  expect(pages[0].meta.total).toBe(5);
});

test("bills are listed with the names of subscription and client where they are asked for, also as CSV", async () => {
  const [bill] = await list(`subscription_id=${used}&month=2026-02&with=names&sort=-totalCharges`);
  expect(bill).toMatchObject({ subscription_name: "Used", client_id: other_client, client_name: "Another" });
  const [plain] = await list(`subscription_id=${used}&month=2026-02`);
  expect(plain.client_name).toBeUndefined();
  const query = "/billing-records?month=2026-02&with=names";
  const file = await company.api("GET", query, undefined, { accept: "text/csv" });
  expect(file.body).toContain("Another");
});

test("a client user sees its own, by the same filters", async () => {
  const user = await company.addUser("client", other_client);
  const { data } = (await user("GET", "/my/billing-records?sort=-totalCharges&with=names")).body;
  expect(data.map(({ totalCharges, client_name }: Json) => [totalCharges, client_name])).toEqual([
    ["100.10", "Another"],
    ["4.50", "Another"],
    ["2.00", "Another"],
  ]);
  expect((await user("GET", "/my/billing-records?client_id=1")).status).toBe(422);
  const stranger = await billing.addCompany();
  const found = await stranger.api(
    "GET",
    `/billing-records?product_id=${product_id}&min_amount=0&with=names`,
  );
  expect(found.body.data).toEqual([]);
});

test.each([
  ["min_amount=1e3", "/min_amount"],
  ["max_amount=", "/max_amount"],
  ["min_amount=1;2", "/min_amount"],
  ["currency=XXX1", "/currency"],
  ["sort=lines", "/sort"],
  ["with=lines", "/with"],
  ["month=2026-13", "/month"],
  ["product_id=0", "/product_id"],
])("%s is refused at its field", async (query, path) => {
  const { status, body } = await company.api("GET", `/billing-records?${query}`);
  expect([status, body.details[0].path]).toEqual([422, path]);
});

test("sums=true adds up all that match, whatever the page, by currency", async () => {
  const other = await company.addModel({ ...FLAT, currency: "JPY", price: 700 });
  await company.subscribe(other, { started_at: "2026-03-01T00:00:00Z" });
  billing.clock.set("2026-04-02T00:00:00Z");
  await company.run();
  const sums = async (query: string, of = company.api) =>
    (await of("GET", `/billing-records?limit=1&sums=true&${query}`)).body.meta.sums;
  expect(await sums("to=2026-03-01")).toEqual([{ currency: "EUR", amount: "168.60", rows: 5 }]);
  expect(await sums("from=2026-03-01")).toEqual([
    { currency: "EUR", amount: "31.00", rows: 2 },
    { currency: "JPY", amount: "700", rows: 1 },
  ]);
  expect(await sums(`client_id=${other_client}&month=2026-01`)).toEqual([
    { currency: "EUR", amount: "6.50", rows: 2 },
  ]);
  expect(await sums("kind=advance")).toEqual([]);
  const stranger = await billing.addCompany();
  expect(await sums("", stranger.api)).toEqual([]);
  const client = await company.addUser("client", other_client);
  const mine = (await client("GET", "/my/billing-records?sums=true")).body;
  expect(mine.meta.sums).toEqual([{ currency: "EUR", amount: expect.any(String), rows: mine.meta.total }]);
  const without = await company.api("GET", "/billing-records");
  expect(without.body.meta).not.toHaveProperty("sums");
  expect((await company.api("GET", "/billing-records?sums=maybe")).status).toBe(422);
});
