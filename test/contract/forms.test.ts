import { beforeAll, describe, expect, test } from "bun:test";
import { create } from "../billing/subscriptions/fixtures.ts";
import { type Api, useService } from "../support/harness.ts";
import { expectList, expectShape, type Shape, stamps } from "./shapes.ts";

// The rows of "Client self-service" that are about forms; the others are in interface.test.ts.

const service = useService();
let client: Api;
let client_id: number;
let form_id: number;

beforeAll(async () => {
  client_id = (await create(service.api, "/clients", { name: "Acme" })).id;
  client = await service.addUser(service, "client", client_id);
});

const FormConfig: Shape = {
  id: "integer",
  name: "string",
  description: "string",
  config: "object",
  client_id: "integer",
  company_id: "integer",
  is_active: "boolean",
  ...stamps,
};

describe("Client self-service", () => {
  const config = {
    title: "Loan application",
    description: "What we ask for",
    fields: [
      ...["text", "number", "email", "tel", "textarea", "date", "checkbox"].map((type) => ({
        name: `a_${type}`,
        label: type,
        type,
        required: true,
        placeholder: "…",
      })),
      { name: "purpose", label: "Purpose", type: "select", options: ["House", "Car"] },
    ],
  };
  const form = { name: "Application", description: "For new customers", config };

  test("POST /my/forms", async () => {
    const { status, body } = await client("POST", "/my/forms", form);
    expect(status).toBe(201);
    expectShape(body.data, FormConfig);
    expect(body.data).toMatchObject({ ...form, client_id, is_active: true });
    form_id = body.data.id;
    const refused = await client("POST", "/my/forms", { ...form, name: "x".repeat(201) });
    expect(refused).toMatchObject({ status: 422, body: { error: expect.any(String) } });
  });
  test("GET /my/forms", async () => {
    expectList((await client("GET", "/my/forms")).body, FormConfig);
  });
  test("POST /my/forms/validate", async () => {
    const good = await client("POST", "/my/forms/validate", { config });
    expect(good).toMatchObject({ status: 200, body: { valid: true, errors: [] } });
    const bad = await client("POST", "/my/forms/validate", { config: { title: "x", fields: [{}] } });
    expect(bad).toMatchObject({ status: 200, body: { valid: false } });
    expect(bad.body.errors.map((error: unknown) => typeof error)).toEqual(["string", "string", "string"]);
    expect((await client("GET", "/my/forms")).body.data).toHaveLength(1);
  });
  test("GET /my/forms/{id}", async () => {
    expectShape((await client("GET", `/my/forms/${form_id}`)).body.data, FormConfig);
  });
  test("PUT /my/forms/{id}", async () => {
    const path = `/my/forms/${form_id}`;
    const { status, body } = await client("PUT", path, { ...form, name: "Second", is_active: false });
    expect([status, body.data.name, body.data.is_active]).toEqual([200, "Second", false]);
    expect((await client("PUT", path, { ...form, config: { title: "x" } })).status).toBe(422);
  });
  test("DELETE /my/forms/{id}", async () => {
    expect((await client("DELETE", `/my/forms/${form_id}`)).status).toBe(200);
    expect((await client("GET", `/my/forms/${form_id}`)).status).toBe(404);
  });
});
