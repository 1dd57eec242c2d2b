import { parse } from "csv-parse/sync";
import { describe, expect, test } from "bun:test";
import { mandatePaymentTable } from "../../src/emandate/payments/tables.ts";
import { FLAT, useBilling } from "../billing/fixtures.ts";
import type { Api, Json } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

// Lists as CSV: the same rows as in JSON, read back by another library, and safe in a spreadsheet.

const fixture = useBilling();

async function table(api: Api, path: string): Promise<{ rows: Json[]; total: string | null }> {
  const { status, body, headers } = await api("GET", path, undefined, { accept: "text/csv" });
  expect([path, status, headers.get("content-type")]).toEqual([
    path,
    200,
    "text/csv; charset=utf-8; header=present",
  ]);
  return { rows: parse(body, { columns: true, bom: false }), total: headers.get("x-total-count") };
}

/** A record as its row should be: records inside by dotted names, what is null empty, lists as JSON. */
function flat(record: Json, path = ""): [string, string][] {
  return Object.entries<Json>(record).flatMap(([name, value]): [string, string][] => {
    const key = path + name;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return flat(value, `${key}.`);
    if (value === null) return [[key, ""]];
    return [[key, typeof value === "string" ? value : JSON.stringify(value)]];
  });
}

describe("Accept: text/csv", () => {
  test("answers lists as CSV, each field in a column of its own", async () => {
    fixture.clock.set("2026-03-01T00:00:00Z");
    const company = await fixture.addCompany();
    const { api } = company;
    const id = await company.subscribe(FLAT, {
      started_at: "2026-01-01T00:00:00Z",
      name: 'A "quoted", name\nof two lines',
    });
    await company.subscribe(FLAT, { started_at: "2026-01-01T00:00:00Z" });
    await company.run();
    expect(await company.records(id)).toHaveLength(1);
    for (const path of ["/clients", "/products", "/subscriptions", "/billing-records", "/events", "/users"]) {
      const { data, meta } = (await api("GET", path)).body;
      const { rows, total } = await table(api, path);
      expect(total).toBe(String(meta?.total ?? data.length));
      expect(rows).toHaveLength(data.length);
      for (const [i, record] of data.entries())
        for (const [key, value] of flat(record))
          if (Object.hasOwn(rows[i], key)) expect([path, key, rows[i][key]]).toEqual([path, key, value]);
    }
    const { rows } = await table(api, "/subscriptions");
    expect(rows[0]["client.name"]).toBe("Client");
    expect(rows[0].name).toBe('A "quoted", name\nof two lines');
    expect((await table(api, "/billing-records?limit=1")).total).toBe("2");
  });

  test("ends with the sums that a list was asked for, one row a currency", async () => {
    fixture.clock.set("2026-03-01T00:00:00Z");
    const company = await fixture.addCompany();
    const { api } = company;
    const flat_fee = (currency: string, price: number) =>
      company.subscribe({ ...FLAT, currency, price }, { started_at: "2026-01-01T00:00:00Z" });
    for (const fee of [flat_fee("USD", 10), flat_fee("EUR", 3.5), flat_fee("USD", 2)]) await fee;
    await company.run();
    const mandate = { customer_name: "Siti", customer_email: "siti@example.com" };
    const { id } = (await api("POST", "/emandate/mandates", mandate)).body.data;
    await fixture.service.deps.store.tx(async (q) => {
      const { company_id } = company;
      const at = "2026-03-01T00:00:00.000Z";
      const due = { due_date: "2026-03-09", debit_date: "2026-03-09", frequency: "Monthly" };
      const payment = { company_id, mandate_id: id, ...due, status: "paid", attempt_count: 1 };
      const stamps = { created_at: at, updated_at: at };
      const rows = ["20.00", "0.05"].map((amount) => ({ ...payment, amount, ...stamps }));
      await q.insert(q.use(mandatePaymentTable)).values(rows as never);
    });
    for (const [path, field] of [
      ["/billing-records", "totalCharges"],
      ["/emandate/payments", "amount"],
    ] as const) {
      const { data, meta } = (await api("GET", `${path}?sums=true&limit=1`)).body;
      expect([path, data.length, meta.sums.length]).toEqual([path, 1, path === "/billing-records" ? 2 : 1]);
      const { rows, total } = await table(api, `${path}?sums=true&limit=1`);
      const sums = rows.slice(1).map((row) => [row.id, row.currency, row[field], row.created_at]);
      expect([path, sums]).toEqual([
        path,
        meta.sums.map((sum: Json) => [`Sum of ${sum.rows}`, sum.currency, sum.amount, ""]),
      ]);
      expect(total).toBe(String(meta.total));
      expect((await table(api, `${path}?limit=1`)).rows).toHaveLength(1);
    }
  });

  test("answers the rows of reports as CSV, with how many groups there are", async () => {
    fixture.clock.set("2026-03-01T00:00:00Z");
    const company = await fixture.addCompany();
    const { api } = company;
    for (let i = 0; i < 3; i++) await company.subscribe(FLAT, { started_at: "2026-01-01T00:00:00Z" });
    await company.run();
    await runNamedJob(fixture.service, "running_bills");
    for (const path of [
      "/revenue?month=2026-01&group_by=subscription&limit=2",
      "/running-bills?group_by=subscription&limit=2",
    ]) {
      const { rows: records } = (await api("GET", path)).body.data;
      expect(records).toHaveLength(2);
      const { rows, total } = await table(api, path);
      expect([path, total]).toEqual([path, "3"]);
      expect(rows.map((row) => Object.entries(row))).toEqual(records.map((record: Json) => flat(record)));
    }
    // What has no rows in this answer is a table without rows.
    expect(await table(api, "/revenue?month=2026-01")).toEqual({ rows: [], total: "0" });
  });

  test("runs nothing in a spreadsheet, and leaves amounts below zero as they are", async () => {
    const { api } = await fixture.addCompany();
    const names = ["=1+1", "+1", "@SUM(A1)", "-1+1", "-2.50", "'quoted", "plain"];
    for (const name of names) expect((await api("POST", "/clients", { name })).status).toBe(201);
    const { rows } = await table(api, "/clients");
    expect(rows.slice(1).map(({ name }) => name)).toEqual([
      "'=1+1",
      "'+1",
      "'@SUM(A1)",
      "'-1+1",
      "-2.50",
      "'quoted",
      "plain",
    ]);
  });

  test("is for lists: errors, records and what asks for JSON stay JSON", async () => {
    const { api } = await fixture.addCompany();
    const ask = (path: string, accept: string) => api("GET", path, undefined, { accept });
    expect((await ask("/company", "text/csv")).body.data.name).toBeString();
    expect((await ask("/clients?page=0", "text/csv")).body.details[0].path).toBe("/page");
    expect((await ask("/clients", "application/json")).body.data).toBeArray();
    const empty = await fixture.service.addTenant();
    const { body } = await empty.api("GET", "/clients", undefined, { accept: "text/csv" });
    expect(body).toBe("id,name,company_id,created_at,updated_at\r\n");
  });
});
