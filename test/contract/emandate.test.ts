import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { onboard } from "../features/emandate_products/mandates.ts";
import { type House, startHouse } from "../harness.ts";
import { expectList, expectShape, type Shape, stamps } from "./shapes.ts";

// The rows of the interface document about e-mandates.

let house: House;

beforeAll(async () => {
  house = await startHouse();
});
afterAll(() => house.stop());

describe("Company: e-mandate", () => {
  const product = {
    product_code: "GYM",
    product_name: "Gym",
    max_amount: "150.00",
    max_no_debit: "2",
    frequency: "Monthly",
  };
  const EmandateProduct: Shape = {
    id: "integer",
    company_id: "integer",
    product_code: "string",
    product_name: "string",
    max_amount: "string",
    max_no_debit: "string",
    frequency: "string",
    frequency_mode: "string",
    is_active: "boolean",
    ...stamps,
  };

  let product_id: number;

  test("POST /emandate/products", async () => {
    const { status, body } = await house.api("POST", "/emandate/products", product);
    expect(status).toBe(201);
    expectShape(body.data, EmandateProduct);
    expect(body.data).toMatchObject({ ...product, frequency_mode: "MT", is_active: true });
    product_id = body.data.id;
  });
  test.each(["product_code", "product_name", "max_amount", "frequency"])(
    "POST /emandate/products requires %s",
    async (field) => {
      const { status, body } = await house.api("POST", "/emandate/products", {
        ...product,
        [field]: undefined,
      });
      expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
    },
  );
  test("GET /emandate/products", async () => {
    expectList((await house.api("GET", "/emandate/products")).body, EmandateProduct);
  });
  test("GET /emandate/products/{id}", async () => {
    const { body } = await house.api("GET", `/emandate/products/${product_id}`);
    expectShape(body.data, EmandateProduct);
  });
  test("PUT /emandate/products/{id}", async () => {
    const change = { ...product, product_name: "Gym, monthly", is_active: false };
    const { status, body } = await house.api("PUT", `/emandate/products/${product_id}`, change);
    expect([status, body.data]).toMatchObject([200, change]);
  });
  test("DELETE /emandate/products/{id}", async () => {
    const body = { ...product, product_code: "GONE" };
    const { id } = (await house.api("POST", "/emandate/products", body)).body.data;
    expect((await house.api("DELETE", `/emandate/products/${id}`)).status).toBe(200);
  });
  test("GET /emandate/customers", async () => {
    const known = { phone: "+60123456789", ic_number: "900131145678" };
    await onboard(house, house, { name: "Siti Aminah", ...known });
    const { body } = await house.api("GET", "/emandate/customers?search=aminah");
    expectList(body, {
      id: "integer",
      company_id: "integer",
      name: "string",
      email: "string",
      phone: "string",
      ic_number: /^\*{8}5678$/,
      mandate_count: "integer",
      active_mandate_count: "integer",
      ...stamps,
    });
    expect(body.meta).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
  });
});
