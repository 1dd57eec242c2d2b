import { beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/emandate/limits.ts";
import { FINAL_STATUSES, MANDATE_STATUSES } from "../../../src/emandate/mandates/model.ts";
import { type Api, type Json, type Tenant, useService } from "../../support/harness.ts";
import { addCatalog, tally } from "../../billing/subscriptions/fixtures.ts";
import { addMandate } from "../payments/fixtures.ts";
import { addEmandateProduct, productBody } from "./fixtures.ts";

const service = useService();
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
});

const PATH = "/emandate/products";
const on_one = () => [["GET"], ["PUT", productBody()], ["DELETE"]] as const;

describe("e-mandate products", () => {
  test("one is created, read, replaced and deleted", async () => {
    const body = { product_code: "GYM_1-a", product_name: " Gym ", max_amount: "150.5", frequency: "Weekly" };
    const created = await api("POST", PATH, body);
    expect(created.status).toBe(201);
    const { id, created_at } = created.body.data;
    expect(created.body).toEqual({
      data: {
        id,
        company_id: service.company_id,
        product_code: "GYM_1-a",
        product_name: "Gym",
        max_amount: "150.50",
        max_no_debit: "1",
        frequency: "Weekly",
        frequency_mode: "WK",
        is_active: true,
        created_at,
        updated_at: created_at,
      },
    });
    const path = `${PATH}/${id}`;
    expect(await api("GET", path)).toMatchObject({ status: 200, body: created.body });

    const change = {
      ...body,
      product_code: "GYM-2",
      frequency: "Yearly",
      max_no_debit: "12",
      is_active: false,
    };
    const replaced = await api("PUT", path, change);
    expect(replaced).toMatchObject({
      status: 200,
      body: {
        data: { id, product_code: "GYM-2", frequency_mode: "YR", max_no_debit: "12", is_active: false },
      },
    });
    // What may be left out: the state stays, the number of debits is one again.
    const again = await api("PUT", path, { ...body, product_code: "GYM-2" });
    expect(again.body.data).toMatchObject({ is_active: false, max_no_debit: "1", frequency: "Weekly" });
    expect((await api("PUT", path, { ...change, is_active: true })).body.data.is_active).toBe(true);

    expect(await api("DELETE", path)).toMatchObject({ status: 200, body: { data: {} } });
    for (const [method, sent] of on_one()) expect((await api(method, path, sent)).status).toBe(404);
    expect((await api("GET", `${PATH}?search=GYM-2`)).body.data).toEqual([]);
  });

  test.each([
    ["Daily", "DL"],
    ["Weekly", "WK"],
    ["Monthly", "MT"],
    ["Yearly", "YR"],
  ])("%s is %s to the scheme", async (frequency, frequency_mode) => {
    expect(await addEmandateProduct(service, { frequency })).toMatchObject({ frequency, frequency_mode });
  });

  test.each([
    ["1", "1.00"],
    ["1.00", "1.00"],
    ["0001.5", "1.50"],
    ["9.99", "9.99"],
    ["30000", "30000.00"],
    ["30000.00", "30000.00"],
  ])("the amount %s is answered as %s", async (max_amount, answered) => {
    const { id } = await addEmandateProduct(service, { max_amount });
    expect((await api("GET", `${PATH}/${id}`)).body.data.max_amount).toBe(answered);
  });

  const amount = 'must be an amount of MYR as text, from "1.00" to "30000.00"';
  const times = 'must be a whole number as text, from "1" to "999"';
  const frequency = "must be one of Daily, Weekly, Monthly, Yearly";
  const code = "must be 1 to 30 letters, digits, _ and -";
  const name = "must be 1 to 100 characters, not blank";
  test.each([
    ...[
      "abc",
      "-1.00",
      "+1.00",
      "1e3",
      "10.005",
      "0.99",
      "30000.01",
      "12345678",
      "1,000.00",
      "1.",
      ".5",
      "",
    ].map((max_amount) => [{ max_amount }, "/max_amount", amount]),
    ...["1.00\n", " 1.00", "0x10", "Infinity", "NaN", "١٠"].map((max_amount) => [
      { max_amount },
      "/max_amount",
      amount,
    ]),
    [{ max_amount: 100 }, "/max_amount", "must be a string"],
    [{ max_amount: null }, "/max_amount", "must be a string"],
    [{ max_amount: undefined }, "/max_amount", "is required"],
    ...["0", "1.5", "1000", "-1", "01", "1e1", " 1", ""].map((max_no_debit) => [
      { max_no_debit },
      "/max_no_debit",
      times,
    ]),
    [{ max_no_debit: 1 }, "/max_no_debit", "must be a string"],
    ...["monthly", "MT", "Hourly", "", null, 1].map((word) => [{ frequency: word }, "/frequency", frequency]),
    [{ frequency: undefined }, "/frequency", "is required"],
    ...["", "a b", "ü", "a/b", "x".repeat(31), "a\n"].map((product_code) => [
      { product_code },
      "/product_code",
      code,
    ]),
    [{ product_code: undefined }, "/product_code", "is required"],
    ...["", "  ", "\u200b", "x".repeat(101)].map((product_name) => [{ product_name }, "/product_name", name]),
    [{ product_name: undefined }, "/product_name", "is required"],
    [{ frequency_mode: "MT" }, "/frequency_mode", expect.stringContaining("is not a known field; known are")],
    [{ company_id: 1 }, "/company_id", expect.stringContaining("is not a known field")],
  ] as [Json, string, unknown][])("POST and PUT answer 422: %j", async (change, path, message) => {
    const { id } = await addEmandateProduct(service);
    const body = productBody(change);
    for (const answer of [await api("POST", PATH, body), await api("PUT", `${PATH}/${id}`, body)])
      expect([answer.status, answer.body.details]).toEqual([422, [{ path, message }]]);
  });

  test("only PUT takes is_active", async () => {
    const { status, body } = await api("POST", PATH, productBody({ is_active: true }));
    expect([status, body.details[0].path]).toEqual([422, "/is_active"]);
    const { id } = await addEmandateProduct(service);
    expect((await api("PUT", `${PATH}/${id}`, productBody({ is_active: "no" }))).status).toBe(422);
  });

  test("every broken rule is named at once", async () => {
    const { status, body } = await api("POST", PATH, {
      product_name: " ",
      max_amount: 1,
      frequency: "MONTHLY",
    });
    expect(status).toBe(422);
    expect(body.details.map(({ path }: Json) => path).toSorted()).toEqual([
      "/frequency",
      "/max_amount",
      "/product_code",
      "/product_name",
    ]);
  });

  test("a code is given once in a company, deleted products included; case makes another", async () => {
    const taken = {
      status: 422,
      body: {
        details: [
          {
            path: "/product_code",
            message: "is already used by another product of this company, maybe a deleted one",
          },
        ],
      },
    };
    const first = await addEmandateProduct(service, { product_code: "ONCE" });
    const second = await addEmandateProduct(service, { product_code: "once" });
    expect(await api("POST", PATH, productBody({ product_code: "ONCE" }))).toMatchObject(taken);
    expect(await api("PUT", `${PATH}/${second.id}`, productBody({ product_code: "ONCE" }))).toMatchObject(
      taken,
    );
    expect((await api("PUT", `${PATH}/${first.id}`, productBody({ product_code: "ONCE" }))).status).toBe(200);
    expect((await api("DELETE", `${PATH}/${first.id}`)).status).toBe(200);
    expect(await api("POST", PATH, productBody({ product_code: "ONCE" }))).toMatchObject(taken);
    expect((await other.api("POST", PATH, productBody({ product_code: "ONCE" }))).status).toBe(201);
  });

  test("of many parallel creates with one code one succeeds; of many deletes, too", async () => {
    const twenty = <T>(work: () => Promise<T>) => Promise.all(Array.from({ length: 20 }, work));
    const body = productBody({ product_code: "RACE" });
    const created = await twenty(() => api("POST", PATH, body));
    expect(tally(created)).toEqual({ 201: 1, 422: 19 });
    const found = (await api("GET", `${PATH}?search=RACE`)).body.data;
    expect(found.length).toBe(1);
    expect(tally(await twenty(() => api("DELETE", `${PATH}/${found[0].id}`)))).toEqual({ 200: 1, 404: 19 });
  });
});

describe("the list of e-mandate products", () => {
  test("is whole, or a page with meta; is searched and filtered", async () => {
    const tenant = await service.addTenant();
    const names = ["Alpha", "beta 100%", "Gamma", "ALPHABET", "a_b"];
    const ids: number[] = [];
    for (const [i, product_name] of names.entries())
      ids.push((await addEmandateProduct(tenant, { product_name, product_code: `code-${i}` })).id);
    const off = productBody({ product_name: "Gamma", product_code: "code-2", is_active: false });
    expect((await tenant.api("PUT", `${PATH}/${ids[2]}`, off)).status).toBe(200);
    const found = async (query: string) => {
      const { body } = await tenant.api("GET", `${PATH}${query}`);
      return { names: body.data.map((product: Json) => product.product_name), meta: body.meta };
    };
    expect(await found("")).toEqual({ names, meta: undefined });
    expect(await found("?page=2&limit=2")).toEqual({
      names: ["Gamma", "ALPHABET"],
      meta: { page: 2, limit: 2, total: 5, total_pages: 3 },
    });
    expect((await found("?page=1")).meta.limit).toBe(20);
    expect((await found("?limit=100")).names).toEqual(names);
    expect((await found("?search=alpha")).names).toEqual(["Alpha", "ALPHABET"]);
    expect((await found("?search=CODE-4")).names).toEqual(["a_b"]);
    expect((await found("?search=%25")).names).toEqual(["beta 100%"]);
    expect((await found("?search=_")).names).toEqual(["a_b"]);
    expect((await found("?is_active=false")).names).toEqual(["Gamma"]);
    expect((await found("?is_active=true&search=a&limit=1")).meta.total).toBe(4);
  });

  test.each([
    ["?page=0", "/page", "must be a whole number from 1 to 1000000000"],
    ["?limit=0", "/limit", `must be a whole number from 1 to ${LIMITS.emandate_page_limit}`],
    ["?limit=101", "/limit", `must be a whole number from 1 to ${LIMITS.emandate_page_limit}`],
    ["?is_active=yes", "/is_active", "must be true or false"],
    ["?search=", "/search", "must be 1 to 200 characters, a part of what is looked for"],
    ["?active=true", "/active", expect.stringContaining("is not a known field")],
  ])("%s is refused, never clamped", async (query, path, message) => {
    const { status, body } = await api("GET", `${PATH}${query}`);
    expect([status, body.details]).toEqual([422, [{ path, message }]]);
  });
});

describe("products and their mandates", () => {
  test.each(MANDATE_STATUSES.map((status) => [status]))("a mandate that is %s", async (status) => {
    const product = await addEmandateProduct(service);
    const path = `${PATH}/${product.id}`;
    await addMandate(service.deps, service, null, { status, emandate_product_id: product.id });
    const { product_code, product_name, max_amount, frequency } = product;
    const same = { product_code, product_name, max_amount, frequency };
    // Under another code nobody would know which product the bank was told of.
    expect(await api("PUT", path, { ...same, product_code: "OTHER" })).toMatchObject({
      status: 422,
      body: {
        details: [
          { path: "/product_code", message: `must stay ${product_code}: mandates were made under it` },
        ],
      },
    });
    expect((await api("PUT", path, { ...same, max_amount: "20.00" })).body.data.max_amount).toBe("20.00");

    const { status: answered, body } = await api("DELETE", path);
    const is_final = new Set<string>(FINAL_STATUSES).has(status);
    expect([answered, body]).toEqual(
      is_final
        ? [200, { data: {} }]
        : [409, { error: `Cannot delete product ${product.id}: it has 1 mandate that has not ended` }],
    );
    expect((await api("GET", path)).status).toBe(is_final ? 404 : 200);
  });
});

test("a product that is deleted while mandates are made has none, or stays", async () => {
  const products = await Promise.all(Array.from({ length: 8 }, () => addEmandateProduct(service)));
  const outcomes = await Promise.all(
    products.map(async ({ id }, i) => {
      const customer = { customer_name: "Racer", customer_email: `racer${i}@example.com` };
      const make = () => api("POST", "/emandate/mandates", { ...customer, emandate_product_id: id });
      const remove = () => api("DELETE", `${PATH}/${id}`);
      // The one that is sent first most often comes first.
      const [made, deleted] =
        i % 2 === 0
          ? await Promise.all([make(), remove()])
          : (await Promise.all([remove(), make()])).toReversed();
      return [made?.status, deleted?.status].join(" ");
    }),
  );
  expect(outcomes.filter((outcome) => !["201 409", "422 200"].includes(outcome))).toEqual([]);
});

describe("who may", () => {
  test.each(["abc", "0", "-1", "1e3", "1.0", "9007199254740992", "9007199254740993", "%20"])(
    "an id that is no positive whole number is a 422: %s",
    async (id) => {
      for (const [method, body] of on_one()) {
        const answer = await api(method, `${PATH}/${id}`, body);
        expect(answer).toMatchObject({ status: 422, body: { details: [{ path: "/id" }] } });
      }
    },
  );

  test("another company's product is not there", async () => {
    const { id } = await addEmandateProduct(other);
    for (const [method, body] of on_one())
      expect((await api(method, `${PATH}/${id}`, body)).status).toBe(404);
    expect((await api("GET", PATH)).body.data.map((product: Json) => product.id)).not.toContain(id);
    expect((await other.api("GET", `${PATH}/${id}`)).status).toBe(200);
  });

  test("analysts read, managers write, client users and strangers get nothing", async () => {
    const { id } = await addEmandateProduct(service);
    const { client_id } = await addCatalog(service);
    const analyst = await service.addUser(service, "analyst");
    const manager = await service.addUser(service, "manager");
    const client = await service.addUser(service, "client", client_id);
    const statuses = async (caller: Api) => {
      const made = [await caller("GET", PATH), await caller("POST", PATH, productBody())];
      for (const [method, body] of on_one()) made.push(await caller(method, `${PATH}/${id}`, body));
      return made.map(({ status }) => status);
    };
    expect(await statuses(analyst)).toEqual([200, 403, 200, 403, 403]);
    expect(await statuses(client)).toEqual([403, 403, 403, 403, 403]);
    expect(await statuses(service.anonymous)).toEqual([401, 401, 401, 401, 401]);
    expect(await statuses(manager)).toEqual([200, 201, 200, 200, 200]);
  });
});
