import { beforeAll, describe, expect, test } from "bun:test";
import type { Api, Json, Tenant } from "../../support/harness.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { useEmandateFixture } from "./fixtures.ts";

const emandate = useEmandateFixture();
let api: Api;
let other: Tenant;

beforeAll(async () => {
  ({ api } = emandate.service);
  other = await emandate.service.addTenant();
});

const PATH = "/emandate/mandates";
let codes = 0;

async function product(more: object = {}, by: Api = api): Promise<Json> {
  const terms = { max_amount: "100.00", max_no_debit: "2", frequency: "Weekly" };
  const named = { product_code: `P${++codes}`, product_name: "Plan" };
  const { status, body } = await by("POST", "/emandate/products", { ...named, ...terms, ...more });
  expect(status).toBe(201);
  return body.data;
}

describe("creating", () => {
  test("takes a name and an email, and makes a customer; the scheme's own terms hold", async () => {
    const sent = { customer_name: " Siti Aminah ", customer_email: "Siti@Example.com" };
    const { status, body } = await api("POST", PATH, sent);
    expect(status).toBe(201);
    const { id, customer_id, created_at } = body.data;
    const customer = { id: customer_id, name: "Siti Aminah", email: "siti@example.com" };
    const mandate = {
      id,
      company_id: emandate.service.company_id,
      reference: "EM-20260310-000001",
      scheme_reference: null,
      customer_id,
      customer: { ...customer, phone: null, ic_number: null },
      emandate_product_id: null,
      product: null,
      connector: "sandbox",
      application_type: "01",
      status: "pending",
      status_reason: null,
      bankscheme_txn_amount: null,
      max_amount: "30000.00",
      max_no_debit: "1",
      frequency: "Monthly",
      frequency_mode: "MT",
      currency: "MYR",
      bank_code: null,
      bank_account_last4: null,
      effective_date: null,
      expiry_date: null,
      amendment: null,
      next_collection_at: null,
      authorization_url: null,
      authorized_at: null,
      activated_at: null,
      terminated_at: null,
      created_at,
      updated_at: created_at,
    };
    expect(body.data).toEqual(mandate);
    const events = [{ type: "emandate.mandate.created", status: "pending", reason: null, created_at }];
    expect(await emandate.read(id)).toEqual({ ...mandate, order_no: null, payments: [], events });
  });

  test("keeps the product's terms as they are", async () => {
    const { id, ...terms } = await product();
    const made = await emandate.mandate("Ahmad", { emandate_product_id: id });
    expect(made).toMatchObject({
      emandate_product_id: id,
      product: { id, product_code: terms.product_code, product_name: "Plan" },
      bankscheme_txn_amount: "100.00",
      max_amount: "100.00",
      max_no_debit: "2",
      frequency: "Weekly",
      frequency_mode: "WK",
    });
    const changed = { ...terms, max_amount: "5.00", frequency: "Daily", product_name: "Other" };
    const { product_code, product_name, max_amount, max_no_debit, frequency } = changed;
    const body = { product_code, product_name, max_amount, max_no_debit, frequency };
    expect((await api("PUT", `/emandate/products/${id}`, body)).status).toBe(200);
    expect(await emandate.read(made.id)).toMatchObject({ max_amount: "100.00", frequency: "Weekly" });
    expect((await api("DELETE", `/emandate/products/${id}`)).status).toBe(409);
    await emandate.act(made.id, "cancel");
    expect((await api("DELETE", `/emandate/products/${id}`)).status).toBe(200);
    // What was made after it still says so.
    expect((await emandate.read(made.id)).product.product_code).toBe(terms.product_code);
  });

  test("finds a customer in other letters, fills blanks, hides the IC number", async () => {
    const first = await emandate.mandate("Chong", { customer_email: "chong@example.com" });
    const second = await emandate.mandate("Chong Wei", {
      customer_email: "CHONG@example.com",
      customer_phone: "012-345 6789",
      customer_ic_number: "900131-14-5678",
    });
    expect(second.customer_id).toBe(first.customer_id);
    expect(second.customer).toMatchObject({
      name: "Chong",
      phone: "+60123456789",
      ic_number: "********5678",
    });
    const answer = await api("POST", PATH, {
      customer_name: "Chong",
      customer_email: "chong@example.com",
      customer_ic_number: "900131-14-5679",
    });
    expect([answer.status, answer.body.details[0].path]).toEqual([422, "/customer_ic_number"]);
    expect(JSON.stringify(answer.body)).not.toContain("5679");
  });

  test("that is repeated under one key is answered the same, though the customer has an IC number", async () => {
    const wanted = {
      customer_name: "Devi",
      customer_email: "devi@example.com",
      customer_ic_number: "900131-14-5678",
    };
    const key = { "idempotency-key": crypto.randomUUID() };
    const [first, again] = [await api("POST", PATH, wanted, key), await api("POST", PATH, wanted, key)];
    expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([
      201,
      "true",
      first.body,
    ]);
    expect(again.body.data.customer.ic_number).toBe("********5678");

    const path = `${PATH}/${first.body.data.id}/authorize`;
    const next_key = { "idempotency-key": crypto.randomUUID() };
    const [asked, asked_again] = [
      await api("POST", path, {}, next_key),
      await api("POST", path, {}, next_key),
    ];
    expect([asked.status, asked_again.status, asked_again.body]).toEqual([200, 200, asked.body]);
    expect(asked.body.data.authorization_url).toStartWith("http");
  });

  test("of many at once makes one customer and as many references", async () => {
    const made = await Promise.all(
      Array.from({ length: 60 }, () => emandate.mandate("Lim", { customer_email: "lim@example.com" })),
    );
    expect(new Set(made.map(({ customer_id }) => customer_id)).size).toBe(1);
    expect(new Set(made.map(({ reference }) => reference)).size).toBe(60);
  });

  const GOOD = { customer_name: "Ahmad", customer_email: "ahmad@example.com" };
  test.each([
    [{ customer_name: undefined }, "/customer_name"],
    [{ customer_name: "  " }, "/customer_name"],
    [{ customer_name: "x".repeat(41) }, "/customer_name"],
    [{ customer_name: "Ah\nmad" }, "/customer_name"],
    [{ customer_name: "Ah\u2028mad" }, "/customer_name"],
    [{ customer_email: undefined }, "/customer_email"],
    [{ customer_email: "ahmad" }, "/customer_email"],
    [{ customer_phone: "12" }, "/customer_phone"],
    [{ customer_ic_number: "901332-14-5678" }, "/customer_ic_number"],
    [{ customer_ic_number: "900131-00-5678" }, "/customer_ic_number"],
    [{ customer_ic_number: "90013114567" }, "/customer_ic_number"],
    [{ customer_ic_number: "900229-14-5678" }, "/customer_ic_number"],
    [{ frequency: "monthly" }, "/frequency"],
    [{ frequency: "Weekly", frequency_mode: "MT" }, "/frequency_mode"],
    [{ bankscheme_txn_amount: "abc" }, "/bankscheme_txn_amount"],
    [{ bankscheme_txn_amount: "-1.00" }, "/bankscheme_txn_amount"],
    [{ bankscheme_txn_amount: "1e3" }, "/bankscheme_txn_amount"],
    [{ bankscheme_txn_amount: "10.005" }, "/bankscheme_txn_amount"],
    [{ bankscheme_txn_amount: "0.99" }, "/bankscheme_txn_amount"],
    [{ bankscheme_txn_amount: "30000.01" }, "/bankscheme_txn_amount"],
    [{ bankscheme_txn_amount: 100 }, "/bankscheme_txn_amount"],
    [{ emandate_product_id: 999_999 }, "/emandate_product_id"],
    [{ emandate_product_id: "1" }, "/emandate_product_id"],
    [{ bank_code: "TEST0021" }, "/bank_code"],
  ])("refuses %p", async (broken, path) => {
    const { status, body } = await api("POST", PATH, { ...GOOD, ...broken });
    expect([status, body.details?.[0]?.path]).toEqual([422, path]);
  });

  test("refuses products that can't be used, and what they don't allow", async () => {
    const mine = await product();
    const theirs = await product({}, other.api);
    const gone = await product();
    await api("DELETE", `/emandate/products/${gone.id}`);
    const { product_code, product_name, max_amount, frequency, id } = await product();
    const resting = { product_code, product_name, max_amount, frequency, is_active: false };
    expect((await api("PUT", `/emandate/products/${id}`, resting)).status).toBe(200);
    for (const emandate_product_id of [theirs.id, gone.id, id]) {
      const { status, body } = await api("POST", PATH, { ...GOOD, emandate_product_id });
      expect([status, body.details[0].path]).toEqual([422, "/emandate_product_id"]);
    }
    for (const [field, value] of [
      ["bankscheme_txn_amount", "100.01"],
      ["frequency", "Monthly"],
      ["frequency_mode", "MT"],
    ] as const) {
      const more = { emandate_product_id: mine.id, [field]: value };
      const { status, body } = await api("POST", PATH, { ...GOOD, ...more });
      expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
    }
    // Nothing is left of what was refused.
    expect((await api("GET", "/emandate/customers?search=ahmad@example.com")).body.data).toEqual([]);
  });
});

describe("listing", () => {
  test("always by pages, newest first, narrowed by status, customer, product and search", async () => {
    const { api: mine } = await emandate.service.addTenant();
    const { id: product_id } = await product({}, mine);
    const one = await emandate.mandate("Zaid 100%", { emandate_product_id: product_id }, mine);
    const two = await emandate.mandate("Zara", {}, mine);
    await mine("POST", `${PATH}/${two.id}/cancel`, {});
    const ids = async (query: string) => {
      const { status, body } = await mine("GET", `${PATH}${query}`);
      expect([query, status]).toEqual([query, 200]);
      expect(body.meta.total).toBe(body.data.length);
      return body.data.map(({ id }: Json) => id);
    };
    expect(await ids("")).toEqual([two.id, one.id]);
    expect(await ids("?status=cancelled")).toEqual([two.id]);
    expect(await ids(`?customer_id=${one.customer_id}`)).toEqual([one.id]);
    expect(await ids(`?product_id=${product_id}`)).toEqual([one.id]);
    expect(await ids("?search=%25")).toEqual([one.id]);
    expect(await ids("?search=ZAR")).toEqual([two.id]);
    expect(await ids(`?search=${two.reference.toLowerCase()}`)).toEqual([two.id]);
    expect(await ids("?search=example.com&status=pending")).toEqual([one.id]);
    const { body } = await mine("GET", `${PATH}?limit=1&page=2`);
    expect([body.data[0].id, body.meta]).toEqual([one.id, { page: 2, limit: 1, total: 2, total_pages: 2 }]);
    expect((await mine("GET", PATH)).body.meta.limit).toBe(20);
  });

  test.each(["page=0", "limit=101", "status=gone", "customer_id=abc", "search=", "colour=red"])(
    "refuses ?%s",
    async (query) => {
      expect((await api("GET", `${PATH}?${query}`)).status).toBe(422);
    },
  );
});

describe("who may", () => {
  const ACTIONS = ["authorize", "suspend", "resume", "cancel", "terminate"];

  test("nobody sees or touches another company's mandate", async () => {
    const { id } = await emandate.mandate();
    expect((await other.api("GET", `${PATH}/${id}`)).status).toBe(404);
    for (const action of ACTIONS) {
      expect([action, (await other.api("POST", `${PATH}/${id}/${action}`, {})).status]).toEqual([
        action,
        404,
      ]);
    }
    expect((await other.api("POST", `${PATH}/${id}/amend`, { amount: "2.00" })).status).toBe(404);
    const theirs = await other.api("POST", "/emandate/simulator/scenarios/mandate_expired/run", {
      mandate_id: id,
    });
    expect([theirs.status, theirs.body.details[0].path]).toEqual([422, "/mandate_id"]);
    expect((await other.api("GET", PATH)).body.data).toEqual([]);
    expect((await emandate.read(id)).status).toBe("pending");
  });

  test("ids that are none", async () => {
    expect((await api("GET", `${PATH}/abc`)).status).toBe(422);
    expect((await api("GET", `${PATH}/${2 ** 53}`)).status).toBe(422);
    expect((await api("GET", `${PATH}/999999`)).status).toBe(404);
  });

  test("analysts read, client users are kept out, strangers sign in", async () => {
    const { id } = await emandate.mandate();
    const analyst = await emandate.service.addUser(emandate.service, "analyst");
    expect((await analyst("GET", `${PATH}/${id}`)).status).toBe(200);
    const { client_id } = await addCatalog(emandate.service);
    const client = await emandate.service.addUser(emandate.service, "client", client_id);
    const sent = { customer_name: "A", customer_email: "a@example.com" };
    for (const [by, read, write] of [
      [analyst, 200, 403],
      [client, 403, 403],
      [emandate.service.anonymous, 401, 401],
    ] as const) {
      expect((await by("GET", PATH)).status).toBe(read);
      expect((await by("POST", PATH, sent)).status).toBe(write);
      for (const action of ACTIONS) {
        expect((await by("POST", `${PATH}/${id}/${action}`, {})).status).toBe(write);
      }
      const scenario = "/emandate/simulator/scenarios/mandate_expired/run";
      expect((await by("POST", scenario, { mandate_id: id })).status).toBe(write);
    }
  });
});
