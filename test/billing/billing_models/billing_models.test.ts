import { describe, expect, test } from "bun:test";
import { useService } from "../../support/harness.ts";
import { create, flatModel } from "../subscriptions/fixtures.ts";

const service = useService();
const { api } = service;

async function addModel(given: Record<string, unknown> = {}): Promise<number> {
  return (await create(api, "/billing-models", flatModel(given))).id;
}

/** What a model holds where its input was silent. */
const UNSET = {
  recurring_fee: "0",
  free_units: "0",
  usage_tiers: [],
  package_size: null,
  minimum_charge: null,
  maximum_charge: null,
  charge_flat_on_zero: false,
  credit_plan: null,
};

/** One model of each type, with every field that the type takes; decimals come back canonical. */
const EVERY_TYPE = [
  { billing_type: "flat", input: { billing_type_id: 1, price: 31 }, expected: { price: 31 } },
  {
    billing_type: "per_unit",
    input: {
      billing_type_id: 2,
      price: "0.000001",
      recurring_fee: "5.00",
      free_units: 100,
      minimum_charge: "1.50",
      maximum_charge: "900.0",
    },
    expected: {
      price: 0.000001,
      recurring_fee: "5",
      free_units: "100",
      minimum_charge: "1.5",
      maximum_charge: "900",
    },
  },
  {
    billing_type: "graduated",
    input: {
      billing_type_id: 3,
      price: 0,
      charge_flat_on_zero: true,
      minimum_charge: 1,
      maximum_charge: null,
      usage_tiers: [
        { up_to: "10", unit_price: "10.0", flat_fee: "2" },
        { up_to: 20.5, unit_price: 5, flat_fee: 3 },
        { up_to: null, unit_price: "0.123456789012" },
      ],
    },
    expected: {
      price: 0,
      charge_flat_on_zero: true,
      minimum_charge: "1",
      usage_tiers: [
        { up_to: "10", unit_price: "10", flat_fee: "2" },
        { up_to: "20.5", unit_price: "5", flat_fee: "3" },
        { up_to: null, unit_price: "0.123456789012", flat_fee: "0" },
      ],
    },
  },
  {
    billing_type: "volume",
    input: {
      billing_type_id: 4,
      price: "12.50",
      usage_tiers: [{ up_to: null, unit_price: "123456789012345678.5", flat_fee: "0" }],
    },
    expected: {
      price: 12.5,
      usage_tiers: [{ up_to: null, unit_price: "123456789012345678.5", flat_fee: "0" }],
    },
  },
  {
    billing_type: "package",
    input: { billing_type_id: 5, price: 100, package_size: "10.0", free_units: "200" },
    expected: { price: 100, package_size: "10", free_units: "200" },
  },
  {
    billing_type: "credit",
    input: {
      billing_type_id: 6,
      price: 49.9,
      currency: "EUR",
      credit_plan: { monthly_credits: 1000, credit_consumption: "per_unit", overage_rate: 0.02 },
    },
    expected: {
      price: 49.9,
      currency: "EUR",
      credit_plan: { monthly_credits: 1000, credit_consumption: "per_unit", overage_rate: "0.02" },
    },
  },
];

describe("billing models", () => {
  test.each(EVERY_TYPE)(
    "a $billing_type model is created and read with every field it takes",
    async ({ billing_type, input, expected }) => {
      const created = await api("POST", "/billing-models", flatModel({ name: "  Plan  ", ...input }));
      expect(created.status).toBe(201);
      const { id, created_at } = created.body.data;
      expect(created.body).toEqual({
        data: {
          id,
          name: "Plan",
          description: "",
          currency: "USD",
          ...UNSET,
          ...expected,
          billing_type_id: input.billing_type_id,
          billing_type,
          company_id: service.company_id,
          status: "active",
          created_at,
          updated_at: created_at,
        },
      });
      expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(await api("GET", `/billing-models/${id}`)).toMatchObject({ status: 200, body: created.body });
      const list = (await api("GET", "/billing-models")).body.data;
      expect(list).toContainEqual(created.body.data);
    },
  );

  test("a credit plan without an overage rate bills no overage", async () => {
    const credit_plan = { monthly_credits: 5, credit_consumption: "per_api_call" };
    const id = await addModel({ billing_type_id: 6, credit_plan });
    const model = (await api("GET", `/billing-models/${id}`)).body.data;
    expect(model.credit_plan).toEqual({ ...credit_plan, overage_rate: null });
  });

  test.each([
    [0.1, 0.1],
    ["0.10", 0.1],
    [1e-12, 0.000000000001],
    ["123456789012.345", 123456789012.345],
    [123456789012345, 123456789012345],
    ["-0", 0],
  ])("a price of %p is answered as the number %p", async (price, answered) => {
    const id = await addModel({ price });
    const text = (await api("GET", `/billing-models/${id}`)).body.data;
    expect(text.price).toBe(answered);
  });

  test("the billing types tell what each takes", async () => {
    const { status, body } = await api("GET", "/billing-types");
    expect(status).toBe(200);
    expect(body.data.map(({ id, name }: { id: number; name: string }) => [id, name])).toEqual([
      [1, "flat"],
      [2, "per_unit"],
      [3, "graduated"],
      [4, "volume"],
      [5, "package"],
      [6, "credit"],
    ]);
    expect(body.data[4]).toMatchObject({ price_means: expect.any(String), needs: ["package_size"] });
    expect(body.data[1]).toMatchObject({ needs: [], optional: expect.arrayContaining(["free_units"]) });
  });

  test("the list is whole without a page, and a page with meta when one is asked for", async () => {
    const tenant = await service.addTenant();
    for (const name of ["Alpha", "beta", "ALPHABET"])
      await create(tenant.api, "/billing-models", flatModel({ name }));
    const names = async (query: string) => {
      const { body } = await tenant.api("GET", `/billing-models${query}`);
      return { names: body.data.map((model: { name: string }) => model.name), meta: body.meta };
    };
    expect(await names("")).toEqual({ names: ["Alpha", "beta", "ALPHABET"], meta: undefined });
    expect(await names("?page=2&limit=2")).toEqual({
      names: ["ALPHABET"],
      meta: { page: 2, limit: 2, total: 3, total_pages: 2 },
    });
    expect((await names("?search=alpha")).names).toEqual(["Alpha", "ALPHABET"]);
    expect((await tenant.api("GET", "/billing-models?limit=201")).status).toBe(422);
    expect((await tenant.api("GET", "/billing-models?type=1")).status).toBe(422);
  });
});

/** A graduated model with one tier, its price written as JSON text. */
function tierOf(unit_price: string): string {
  const tier = `{"up_to":null,"unit_price":${unit_price}}`;
  return `{"billing_type_id":3,"name":"x","price":0,"currency":"USD","description":"","usage_tiers":[${tier}]}`;
}

describe("what a billing model may not be", () => {
  const open = { up_to: null, unit_price: "1", flat_fee: "0" };
  const plan = { monthly_credits: 5, credit_consumption: "per_unit" };

  test.each([
    [{ billing_type_id: 7 }, ["/billing_type_id"]],
    [{ billing_type_id: 0 }, ["/billing_type_id"]],
    [{ billing_type_id: "1" }, ["/billing_type_id"]],
    [{ name: " " }, ["/name"]],
    [{ name: "a\0b" }, ["/name"]],
    [{ description: undefined }, ["/description"]],
    [{ description: "x".repeat(1001) }, ["/description"]],
    [{ currency: "XYZ" }, ["/currency"]],
    [{ currency: "usd" }, ["/currency"]],
    [{ currency: "" }, ["/currency"]],
    [{ price: -1 }, ["/price"]],
    [{ price: null }, ["/price"]],
    [{ price: true }, ["/price"]],
    [{ price: "" }, ["/price"]],
    [{ price: "1e3" }, ["/price"]],
    [{ price: "1,50" }, ["/price"]],
    [{ price: " 1" }, ["/price"]],
    [{ price: "NaN" }, ["/price"]],
    [{ price: "0.1234567890123456" }, ["/price"]],
    [{ price: 0.1234567890123456 }, ["/price"]],
    [{ price: 1e21 }, ["/price"]],
    [{ price: "1234567890.123456" }, ["/price"]],
    [{ colour: "red" }, ["/colour"]],
    [{ recurring_fee: "5" }, ["/recurring_fee"]],
    [{ charge_flat_on_zero: true }, ["/charge_flat_on_zero"]],
    [{ charge_flat_on_zero: "true" }, ["/charge_flat_on_zero"]],
    [{ billing_type_id: 2, free_units: "-1" }, ["/free_units"]],
    [{ billing_type_id: 2, free_units: null }, ["/free_units"]],
    [{ billing_type_id: 2, recurring_fee: "x", free_units: "y" }, ["/recurring_fee", "/free_units"]],
    [{ billing_type_id: 2, minimum_charge: "2", maximum_charge: "1" }, ["/minimum_charge"]],
    [{ billing_type_id: 2, usage_tiers: [open] }, ["/usage_tiers"]],
    [{ billing_type_id: 3 }, ["/usage_tiers"]],
    [{ billing_type_id: 3, usage_tiers: [] }, ["/usage_tiers"]],
    [{ billing_type_id: 3, usage_tiers: {} }, ["/usage_tiers"]],
    [{ billing_type_id: 3, usage_tiers: [{ ...open, up_to: "10" }] }, ["/usage_tiers/0/up_to"]],
    [{ billing_type_id: 4, usage_tiers: [open, open] }, ["/usage_tiers/0/up_to"]],
    [
      { billing_type_id: 4, usage_tiers: [{ ...open, up_to: "10" }, { ...open, up_to: "10.0" }, open] },
      ["/usage_tiers/1/up_to"],
    ],
    [{ billing_type_id: 4, usage_tiers: [{ ...open, up_to: "0" }, open] }, ["/usage_tiers/0/up_to"]],
    [{ billing_type_id: 3, usage_tiers: [{ up_to: null }] }, ["/usage_tiers/0/unit_price"]],
    [
      { billing_type_id: 3, usage_tiers: [{ ...open, unit_price: "x", flat_fee: "1.2.3" }] },
      ["/usage_tiers/0/unit_price", "/usage_tiers/0/flat_fee"],
    ],
    [{ billing_type_id: 3, usage_tiers: [{ ...open, unit_price: "-1" }] }, ["/usage_tiers/0/unit_price"]],
    [{ billing_type_id: 3, usage_tiers: [{ ...open, from: "0" }] }, ["/usage_tiers/0/from"]],
    [{ billing_type_id: 3, usage_tiers: Array.from({ length: 101 }, () => open) }, ["/usage_tiers"]],
    [{ billing_type_id: 5 }, ["/package_size"]],
    [{ billing_type_id: 5, package_size: null }, ["/package_size"]],
    [{ billing_type_id: 5, package_size: "0" }, ["/package_size"]],
    [{ billing_type_id: 6 }, ["/credit_plan"]],
    [{ billing_type_id: 1, credit_plan: plan }, ["/credit_plan"]],
    [
      { billing_type_id: 6, credit_plan: {} },
      ["/credit_plan/monthly_credits", "/credit_plan/credit_consumption"],
    ],
    [
      { billing_type_id: 6, credit_plan: { ...plan, monthly_credits: 1.5 } },
      ["/credit_plan/monthly_credits"],
    ],
    [{ billing_type_id: 6, credit_plan: { ...plan, overage_rate: "-1" } }, ["/credit_plan/overage_rate"]],
    [{ billing_type_id: 6, credit_plan: { ...plan, overage_rate: "x" } }, ["/credit_plan/overage_rate"]],
  ])("POST and PUT answer 422 naming the field: %j", async (given, paths) => {
    const id = await addModel();
    for (const [method, path] of [
      ["POST", "/billing-models"],
      ["PUT", `/billing-models/${id}`],
    ] as const) {
      const answer = await api(method, path, flatModel(given));
      expect(answer.status, method).toBe(422);
      expect(answer.body.error).toBeString();
      expect(answer.body.details.map((detail: { path: string }) => detail.path)).toEqual(paths);
    }
  });

  test("POST names every field that is missing, and an unknown billing type's alternatives", async () => {
    const missing = await api("POST", "/billing-models", {});
    expect(missing).toMatchObject({
      status: 422,
      body: {
        details: ["billing_type_id", "name", "price", "currency", "description"].map((field) => ({
          path: `/${field}`,
          message: "is required",
        })),
      },
    });
    const unknown = await api("POST", "/billing-models", flatModel({ billing_type_id: 7 }));
    expect(unknown.body.details[0].message).toBe(
      "must be one of 1 (flat), 2 (per_unit), 3 (graduated), 4 (volume), 5 (package), 6 (credit)",
    );
  });

  test("a number that JSON can't carry exactly is refused, and the message names the way out", async () => {
    const refused = await api("POST", "/billing-models", tierOf("1234567.890123456789"));
    expect(refused).toMatchObject({
      status: 422,
      body: { details: [{ path: "/usage_tiers/0/unit_price" }] },
    });
    expect(refused.body.error).toContain("send more as a string");
    expect((await api("POST", "/billing-models", tierOf("1e400"))).status).toBe(422);
    expect((await api("POST", "/billing-models", tierOf('"123456789.012345678901"'))).status).toBe(201);
  });
});
