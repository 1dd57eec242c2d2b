import { describe, expect, test } from "bun:test";
import { useService } from "../support/harness.ts";
import { DATE_TIME, expectList, expectShape, type Shape, stamps } from "./shapes.ts";

// The rows of the interface document about e-mandates.

/** Ids of records made in the rows above, for the rows below. */
const ids: Record<string, number> = {};

const service = useService();

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

  test("POST /emandate/products", async () => {
    const { status, body } = await service.api("POST", "/emandate/products", product);
    expect(status).toBe(201);
    expectShape(body.data, EmandateProduct);
    expect(body.data).toMatchObject({ ...product, frequency_mode: "MT", is_active: true });
    ids.product = body.data.id;
  });
  test.each(["product_code", "product_name", "max_amount", "frequency"])(
    "POST /emandate/products requires %s",
    async (field) => {
      const { status, body } = await service.api("POST", "/emandate/products", {
        ...product,
        [field]: undefined,
      });
      expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
    },
  );
  test("GET /emandate/products", async () => {
    expectList((await service.api("GET", "/emandate/products")).body, EmandateProduct);
  });
  test("GET /emandate/products/{id}", async () => {
    const { body } = await service.api("GET", `/emandate/products/${ids.product}`);
    expectShape(body.data, EmandateProduct);
  });
  test("PUT /emandate/products/{id}", async () => {
    const change = { ...product, product_name: "Gym, monthly", is_active: true };
    const { status, body } = await service.api("PUT", `/emandate/products/${ids.product}`, change);
    expect([status, body.data]).toMatchObject([200, change]);
  });
  test("DELETE /emandate/products/{id}", async () => {
    const body = { ...product, product_code: "GONE" };
    const { id } = (await service.api("POST", "/emandate/products", body)).body.data;
    expect((await service.api("DELETE", `/emandate/products/${id}`)).status).toBe(200);
  });

  const mandate = () => ({
    customer_name: "Siti Aminah",
    customer_email: "siti@example.com",
    customer_phone: "012-345 6789",
    customer_ic_number: "900131-14-5678",
    emandate_product_id: ids.product,
    bankscheme_txn_amount: "89.90",
    frequency_mode: "MT",
    frequency: "Monthly",
  });
  const Mandate: Shape = {
    id: "integer",
    company_id: "integer",
    reference: /^EM-\d{8}-\d{6}$/,
    customer_id: "integer",
    customer: "object",
    emandate_product_id: "integer",
    product: "object",
    connector: /^sandbox$/,
    application_type: /^01$/,
    status: /^pending$/,
    bankscheme_txn_amount: /^89\.90$/,
    max_amount: /^150\.00$/,
    max_no_debit: /^2$/,
    frequency: /^Monthly$/,
    frequency_mode: /^MT$/,
    currency: /^MYR$/,
    ...stamps,
  };
  const NULLS = [
    "scheme_reference",
    "status_reason",
    "bank_code",
    "bank_account_last4",
    "effective_date",
  ].concat([
    "expiry_date",
    "next_collection_at",
    "authorization_url",
    "authorized_at",
    "activated_at",
    "terminated_at",
  ]);

  test("POST /emandate/mandates", async () => {
    const { status, body } = await service.api("POST", "/emandate/mandates", mandate());
    expect(status).toBe(201);
    expectShape(body.data, Mandate);
    for (const field of NULLS) expect([field, body.data[field]]).toEqual([field, null]);
    ids.mandate = body.data.id;
  });
  test("POST /emandate/mandates with what is required onboards a customer", async () => {
    const required = { customer_name: "Ahmad", customer_email: "ahmad@example.com" };
    const { status, body } = await service.api("POST", "/emandate/mandates", required);
    expect([status, body.data.frequency, body.data.max_amount]).toEqual([201, "Monthly", "30000.00"]);
    const { data } = (await service.api("GET", `/emandate/customers/${body.data.customer_id}`)).body;
    expect(data).toMatchObject({ name: "Ahmad", email: "ahmad@example.com", mandate_count: 1 });
  });
  test.each(["customer_name", "customer_email"])("POST /emandate/mandates requires %s", async (field) => {
    const { status, body } = await service.api("POST", "/emandate/mandates", {
      ...mandate(),
      [field]: undefined,
    });
    expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
  });
  test("GET /emandate/mandates", async () => {
    const { body } = await service.api("GET", "/emandate/mandates?search=aminah");
    expectList(body, Mandate);
    expect(body.meta).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
  });
  test("GET /emandate/mandates/{id}", async () => {
    const { status, body } = await service.api("GET", `/emandate/mandates/${ids.mandate}`);
    expect(status).toBe(200);
    expectShape(body.data, Mandate);
    expect(body.data.payments).toEqual([]);
    expect(body.data.events).toBeArray();
  });
  test("GET /emandate/customers", async () => {
    const { body } = await service.api("GET", "/emandate/customers?search=aminah");
    expectList(body, {
      id: "integer",
      company_id: "integer",
      name: "string",
      email: "string",
      phone: /^\+60123456789$/,
      ic_number: /^\*{8}5678$/,
      mandate_count: "integer",
      active_mandate_count: "integer",
      ...stamps,
    });
    expect(body.meta).toEqual({ page: 1, limit: 20, total: 1, total_pages: 1 });
  });
  test("GET /emandate/banks", async () => {
    const { status, body } = await service.api("GET", "/emandate/banks");
    expect(status).toBe(200);
    expectList(body, {
      bank_code: "string",
      bank_name: "string",
      display_name: "string",
      type: /^(B2C|B2B1)$/,
      status: /^(online|offline)$/,
      checked_at: DATE_TIME,
    });
  });
  test("GET /emandate/config", async () => {
    const { status, body } = await service.api("GET", "/emandate/config");
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      company_id: service.company_id,
      scheme: "FPX",
      connector: "sandbox",
      exchange_id: null,
      seller_id: null,
      seller_bank_code: "01",
      currency: "MYR",
      version: "7.0",
      callback_url: null,
      return_url: null,
      has_private_key: false,
      certificate_fingerprint: null,
      certificate_expires_at: null,
      max_retries: 3,
      retry_interval_days: 1,
      first_collection_lead_days: 2,
      suspend_after_failures: 1,
      authorization_amount: "1.00",
    });
    expectShape(body.data, { updated_at: DATE_TIME });
  });
});
