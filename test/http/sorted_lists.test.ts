import { describe, expect, test } from "bun:test";
import { FLAT, useBilling } from "../billing/fixtures.ts";
import type { Api, Json } from "../support/harness.ts";

// Lists by a field, against sorting the whole list by hand.

const fixture = useBilling();
const NAMES = ["beta", "Alpha", "alpha", "GAMMA", "beta"];

const FIELD = { name: "purpose", label: "Purpose", type: "text" };

async function sorted(api: Api, path: string, sort: string): Promise<Json[]> {
  const { status, body } = await api("GET", `${path}?sort=${sort}`);
  expect([path, sort, status, body.error]).toEqual([path, sort, 200, undefined]);
  return body.data;
}

function byHand(rows: Json[], sort: string): number[] {
  const field = sort.replace("-", "");
  const keyOf = (row: Json) => (typeof row[field] === "string" ? row[field].toLowerCase() : row[field]);
  const sign = sort.startsWith("-") ? -1 : 1;
  const compared = (a: Json, b: Json) => (keyOf(a) < keyOf(b) ? -1 : Number(keyOf(a) > keyOf(b)));
  return rows.toSorted((a, b) => sign * compared(a, b) || a.id - b.id).map(({ id }) => id);
}

describe("sort", () => {
  test("orders clients, products and subscriptions by each field, ties by id, page by page", async () => {
    fixture.clock.set("2026-03-01T00:00:00Z");
    const company = await fixture.addCompany();
    const { api } = company;
    const user = await company.addUser("client", company.client_id);
    const model = await company.addModel(FLAT);
    for (const [i, name] of NAMES.entries()) {
      fixture.clock.set(`2026-03-01T0${9 - i}:00:00Z`);
      for (const path of ["/clients", "/products"]) await api("POST", path, { name });
      const code = `c${9 - i}`;
      await company.addModel({ ...FLAT, name });
      const made = [
        await api("POST", "/meters", { code, name, aggregation: "sum" }),
        await api("POST", "/features", { code, name, kind: "switch" }),
        await api("POST", "/add-ons", { code, name, currency: "USD", charge: { type: "fixed", price: "5" } }),
        await api("POST", "/users", { email: `${code}@example.com`, name, role: "analyst" }),
      ];
      const api_key = { name, role: "lender", environment: "staging" };
      made.push(
        await user("POST", "/my/forms", { name, config: { title: name, fields: [FIELD] } }),
        await api("POST", "/api-keys", api_key),
        await api("POST", "/emandate/products", {
          product_code: code,
          product_name: name,
          max_amount: `${100 + (i % 3) * 50}.00`,
          frequency: "Monthly",
        }),
        await api("POST", "/emandate/mandates", {
          customer_name: name,
          customer_email: `${code}@example.com`,
        }),
      );
      expect(made.map(({ status, body }) => [status, body.error])).toEqual(made.map(() => [201, undefined]));
      await company.subscribe(model, { name, started_at: `2026-0${(i % 3) + 1}-01T00:00:00Z` });
    }
    const fields = ["id", "name", "created_at"];
    const lists = {
      "/clients": fields,
      "/products": fields,
      "/billing-models": fields,
      "/meters": ["id", "name", "code", "created_at"],
      "/features": ["id", "name", "code", "created_at"],
      "/add-ons": ["id", "name", "code", "created_at"],
      "/users": ["id", "email", "created_at"],
      "/forms": fields,
      "/api-keys": fields,
      "/emandate/customers": ["id", "name", "email", "created_at"],
      "/emandate/products": ["id", "product_name", "product_code", "max_amount", "created_at"],
      "/subscriptions": ["id", "name", "external_subscription_id", "started_at", "created_at"],
    };
    for (const [path, names] of Object.entries(lists)) {
      const all = (await api("GET", path)).body.data;
      expect(all.length).toBeGreaterThanOrEqual(5);
      for (const sort of names.flatMap((name) => [name, `-${name}`])) {
        const ids = (await sorted(api, path, sort)).map(({ id }) => id);
        expect([path, sort, ids]).toEqual([path, sort, byHand(all, sort)]);
        const page = (await api("GET", `${path}?sort=${sort}&page=2&limit=2`)).body.data;
        expect(page.map(({ id }: Json) => id)).toEqual(ids.slice(2, 4));
      }
      const { status, body } = await api("GET", `${path}?sort=company_id`);
      const words = names.flatMap((name) => [name, `-${name}`]).join(", ");
      expect([status, body.details]).toEqual([422, [{ path: "/sort", message: `must be one of ${words}` }]]);
    }
  });

  test("puts what has no value last, in either direction", async () => {
    const { api } = await fixture.addCompany();
    const ids: number[] = [];
    for (const [i, amount] of ["100.00", undefined, "20.00", undefined].entries()) {
      const customer = { customer_name: "Siti", customer_email: `siti${i}@example.com` };
      const debit = amount === undefined ? {} : { bankscheme_txn_amount: amount };
      const made = await api("POST", "/emandate/mandates", { ...customer, ...debit });
      ids.push(made.body.data.id);
    }
    const [most, none, least, neither] = ids;
    const orderBy = async (sort: string) =>
      (await sorted(api, "/emandate/mandates", sort)).map(({ id }) => id);
    expect(await orderBy("bankscheme_txn_amount")).toEqual([least, most, none, neither]);
    expect(await orderBy("-bankscheme_txn_amount")).toEqual([most, least, none, neither]);
  });
});
