import { beforeAll, describe, expect, test } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const HOSTILE = `</bdi></style><script>alert("1")</script><img src=x onerror='alert(2)'>&amp;\u202Egnp.`;
const START = { started_at: "2024-01-01T00:00:00Z" };

/** What a browser would make of the page: elements with their attributes, and the text that is seen. */
async function parsed(page: string) {
  const elements: { name: string; attributes: Record<string, string>; text: string }[] = [];
  const open: (typeof elements)[number][] = [];
  const rewriter = new HTMLRewriter().on("*", {
    element(element) {
      const found = { name: element.tagName, attributes: Object.fromEntries(element.attributes), text: "" };
      elements.push(found);
      if (!element.canHaveContent) return;
      open.push(found);
      element.onEndTag(() => void open.splice(open.indexOf(found), 1));
    },
    text({ text }) {
      for (const element of open) element.text += text;
    },
  });
  await rewriter.transform(new Response(page)).text();
  const entities: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };
  const plain = (text: string) =>
    text.replaceAll(/&(amp|lt|gt|quot|#x27);/g, (_, name) => entities[name] ?? "");
  const texts = (name: string) =>
    elements.filter((element) => element.name === name).map(({ text }) => plain(text).trim());
  return { elements, texts };
}

async function invoice(company: Company, id: number): Promise<Answer> {
  const answer = await company.api("GET", `/billing-records/${id}/invoice`);
  expect(answer.status).toBe(200);
  return answer;
}

/** Bills a month and answers its record's id. */
async function bill(company: Company, subscription_id: number, period: string): Promise<Json> {
  const { records } = await company.run({ period, subscription_ids: [subscription_id] });
  return records[0];
}

/** The terms beside the table, with what they say. */
async function particulars(page: string): Promise<Record<string, string>> {
  const { texts } = await parsed(page);
  const values = texts("dd");
  return Object.fromEntries(texts("dt").map((term, i) => [term, values[i] ?? ""]));
}

describe("an invoice", () => {
  test("tells who pays what, in the company's zone and the currency's digits", async () => {
    billing.clock.set("2024-04-01T17:00:00Z");
    const company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
    await company.api("PUT", "/company", {
      name: "Seller & Co",
      timezone: "Asia/Kuala_Lumpur",
      currency: "EUR",
    });
    const model = { ...PER_UNIT, name: "Metered", price: 0.000_25, recurring_fee: "1500" };
    const id = await company.subscribe(model, START);
    await company.use(id, ["2024-03-10T00:00:00Z", "1234567.5"]);
    const record = await bill(company, id, "2024-03");
    const { body } = await invoice(company, record.id);
    const { texts } = await parsed(body);
    expect(texts("h1")).toEqual([`Invoice ${record.id}`]);
    expect(texts("title")).toEqual([`Invoice ${record.id}`]);
    expect(texts("header")[0]).toContain("Seller & Co");
    expect(await particulars(body)).toEqual({
      "Billed to": "Client",
      Issued: "2 April 2024",
      "Billing period": "1 March 2024 – 31 March 2024",
      Product: "Product",
      Subscription: expect.stringMatching(/^Subscription \(external \d+\)$/),
    });
    expect(texts("td").join(" | ").split(" | 1 March")).toEqual([
      "1 March 2024 | 31 March 2024 | 1 | 1,500 | EUR 1,500.00",
      " 2024 | 31 March 2024 | 1,234,567.5 | 0.00025 | EUR 308.64 | EUR 1,808.64",
    ]);
    expect(texts("th").slice(6)).toEqual(["Metered: monthly fee", "Metered: usage", "Total"]);
    expect(texts("footer")[0]).toContain("Asia/Kuala_Lumpur");
  });

  test.each([
    ["JPY", 1_000, "JPY 1,000"],
    ["KWD", 10, "KWD 10.000"],
  ])("has as many digits as %s", async (currency, price, total) => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const company = await billing.addCompany();
    const record = await bill(
      company,
      await company.subscribe({ ...FLAT, price, currency }, START),
      "2024-03",
    );
    const { texts } = await parsed((await invoice(company, record.id)).body);
    expect(texts("td").at(-1)).toBe(total);
  });

  test("keeps the zone in which its period was cut, and tells moments within days", async () => {
    billing.clock.set("2024-03-15T12:30:00Z");
    const company = await billing.addCompany({ timezone: "America/New_York" });
    const id = await company.subscribe({ ...PER_UNIT, price: 1 }, START);
    expect((await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
    billing.clock.set("2024-04-02T00:00:00Z");
    const place = { name: "Moved", timezone: "Asia/Tokyo", currency: "EUR" };
    expect((await company.api("PUT", "/company", place)).status).toBe(200);
    const { body } = await invoice(company, (await bill(company, id, "2024-03")).id);
    expect((await particulars(body))["Billing period"]).toBe("1 March 2024 – 31 March 2024");
    const { texts } = await parsed(body);
    expect(texts("td").slice(0, 2)).toEqual(["1 March 2024", "15 March 2024, 08:30"]);
    expect(texts("footer")[0]).toContain("America/New_York");
  });

  test("of an adjustment names the original", async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const company = await billing.addCompany();
    const id = await company.subscribe(PER_UNIT, START);
    await company.use(id, ["2024-03-10T00:00:00Z", "5000"]);
    const original = await bill(company, id, "2024-03");
    billing.clock.set("2024-04-20T00:00:00Z");
    await company.use(id, ["2024-03-11T00:00:00Z", "-3000"]);
    const adjustment = await bill(company, id, "2024-03");
    const { body } = await invoice(company, adjustment.id);
    const { texts } = await parsed(body);
    expect(texts("h1")).toEqual([`Adjustment ${adjustment.id}`]);
    expect(await particulars(body)).toMatchObject({
      Issued: "20 April 2024",
      Adjusts: `Invoice ${original.id} of 1 April 2024`,
    });
    expect(texts("td").slice(2)).toEqual(["-3,000", "0.5", "EUR -1,500.00", "EUR -1,500.00"]);
  });
});

test("an invoice shows what a charge's price is of, what it fits, and the events that had no value", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const company = await billing.addCompany({ currency: "EUR" });
  const meter = await company.api("POST", "/meters", {
    code: "tokens",
    name: "Tokens",
    aggregation: "sum",
    group_keys: ["model"],
    value: [{ key: "metadata:tokens" }],
  });
  const charge = { code: "tokens", name: "Tokens", meter_id: meter.body.data.id, type: "per_unit" };
  const prices = [
    { match: { model: "small" }, price: "0.25" },
    { match: { model: "</bdi><b>" }, price: "0" },
  ];
  const charges = [{ ...charge, price: "3", per: "1000000", prices }];
  const commitment = { minimum: "100" };
  const id = await company.subscribe({ ...FLAT, name: "Plan", price: "0", charges, commitment }, START);
  const { external_subscription_id } = (await company.api("GET", `/subscriptions/${id}`)).body.data;
  const timestamp = Date.parse("2024-03-10T00:00:00Z");
  const events = [
    { model: "large", tokens: 2_000_000 },
    { model: "large" },
    { model: "small", tokens: 4_000_000 },
    { model: "</bdi><b>", tokens: 7 },
  ].map((metadata) => ({ id: crypto.randomUUID(), external_subscription_id, timestamp, usage: 1, metadata }));
  expect((await company.api("POST", "/usage/events", events)).status).toBe(201);
  const { body } = await invoice(company, (await bill(company, id, "2024-03")).id);
  const { texts } = await parsed(body);
  const cells = texts("td");
  const rows = texts("th").slice(6, -1);
  expect(rows.map((row, i) => [row, ...cells.slice(5 * i + 2, 5 * i + 5)])).toEqual([
    ["Plan: monthly fee", "1", "0", "EUR 0.00"],
    ["Plan: usage, included", "4", "–", "EUR 0.00"],
    ["Plan: Tokens (model small)", "4,000,000", "0.25 per 1,000,000", "EUR 1.00"],
    ["Plan: Tokens (model </bdi><b>)", "7", "0", "EUR 0.00"],
    ["Plan: Tokens (events without a value: 1)", "2,000,000", "3 per 1,000,000", "EUR 6.00"],
    ["Plan: commitment of 100", "1", "–", "EUR 93.00"],
  ]);
});

describe("a hostile name", () => {
  let page: Answer;

  beforeAll(async () => {
    billing.clock.set("2024-04-01T01:00:00Z");
    const company = await billing.addCompany();
    await company.api("PUT", "/company", { name: HOSTILE, timezone: "UTC", currency: "EUR" });
    const created = async (path: string) => (await company.api("POST", path, { name: HOSTILE })).body.data.id;
    const ids = { client_id: await created("/clients"), product_id: await created("/products") };
    const external_subscription_id = HOSTILE;
    const id = await company.subscribe(
      { ...PER_UNIT, name: HOSTILE },
      { ...START, ...ids, name: HOSTILE, external_subscription_id },
    );
    page = await invoice(company, (await bill(company, id, "2024-03")).id);
  });

  test("stays text wherever it stands", async () => {
    const { elements, texts } = await parsed(page.body);
    expect(texts("bdi")).toEqual([...Array.from({ length: 5 }, () => HOSTILE), `${HOSTILE}: usage`]);
    const allowed =
      "html head meta title style body main header p h1 dl dt dd bdi table caption thead tbody tfoot tr th td footer";
    expect(elements.map(({ name }) => name).filter((name) => !allowed.split(" ").includes(name))).toEqual([]);
    const attributes = new Set(elements.flatMap((element) => Object.keys(element.attributes)));
    expect([...attributes].toSorted()).toEqual([
      "charset",
      "class",
      "colspan",
      "content",
      "lang",
      "name",
      "scope",
    ]);
    expect(page.body).not.toMatch(/<(script|img|link|iframe|object)|url\(|@import|https?:/i);
  });

  test("could not run a script or load anything if it did not", async () => {
    const policy = page.headers.get("content-security-policy") ?? "";
    const style = /<style>([\s\S]*?)<\/style>/.exec(page.body)?.[1] ?? "";
    const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
    expect(policy.split("; ").toSorted()).toEqual([
      "base-uri 'none'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      `style-src 'sha256-${hash}'`,
    ]);
    expect(Object.fromEntries(page.headers)).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "cache-control": "private, no-store",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "x-request-id": expect.any(String),
    });
  });

  test("the page can be read aloud and printed", async () => {
    const { elements } = await parsed(page.body);
    expect(page.body).toStartWith("<!doctype html>\n");
    expect(elements[0]).toMatchObject({ name: "html", attributes: { lang: "en" } });
    const count = (name: string) => elements.filter((element) => element.name === name).length;
    expect([count("caption"), count("h1"), count("main"), count("title")]).toEqual([1, 1, 1, 1]);
    for (const { name, attributes } of elements) {
      if (name === "th") expect(["col", "row"]).toContain(attributes.scope ?? "");
    }
    expect(page.body).toMatch(/@media print/);
  });
});

test("an invoice is the client's own under /my, and nobody else's", async () => {
  billing.clock.set("2024-04-01T01:00:00Z");
  const [company, other] = [await billing.addCompany(), await billing.addCompany()];
  const { id } = await bill(company, await company.subscribe(FLAT, START), "2024-03");
  const client = await company.addUser("client", company.client_id);
  const stranger = await company.addUser("client", await company.addClient());
  const mine = await client("GET", `/my/billing-records/${id}/invoice`);
  expect([mine.status, mine.body]).toEqual([200, (await invoice(company, id)).body]);
  expect(mine.headers.get("content-security-policy")).toContain("default-src 'none'");
  const refused = await stranger("GET", `/my/billing-records/${id}/invoice`);
  expect(refused).toMatchObject({ status: 404, body: { error: `Billing record ${id} not found` } });
  expect((await other.api("GET", `/billing-records/${id}/invoice`)).status).toBe(404);
  expect((await client("GET", `/billing-records/${id}/invoice`)).status).toBe(403);
  expect((await company.api("GET", `/my/billing-records/${id}/invoice`)).status).toBe(403);
  expect((await billing.service.anonymous("GET", `/billing-records/${id}/invoice`)).status).toBe(401);
  expect((await company.api("GET", "/billing-records/0/invoice")).status).toBe(422);
});
