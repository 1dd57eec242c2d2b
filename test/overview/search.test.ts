import { beforeAll, describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { clientTable } from "../../src/tenancy/clients/tables.ts";
import { insertRows } from "../../src/store/insert_rows.ts";
import { type Company, FLAT, useBilling } from "../billing/fixtures.ts";
import type { Api, Json } from "../support/harness.ts";

// One question over all records, against a plain model, with hostile texts and other tenants beside it.

const fixture = useBilling();
let company: Company;
let other: Company;
let client_user: Api;
let subscription_id: number;
let names: string[];

const found = async (api: Api, q: string, base = "/search"): Promise<Json[]> => {
  const { status, body } = await api("GET", `${base}?q=${encodeURIComponent(q)}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
};
const briefly = (rows: Json[]) => rows.map(({ kind, name }: Json) => `${kind} ${name}`);

beforeAll(async () => {
  fixture.clock.set("2026-03-01T00:00:00Z");
  [company, other] = [await fixture.addCompany(), await fixture.addCompany()];
  for (const { api } of [company, other])
    for (const [path, body] of [
      ["/clients", { name: "Acme" }],
      ["/clients", { name: "The ACME works" }],
      ["/clients", { name: "100% _wool_" }],
      ["/products", { name: "Acme gateway" }],
    ] as const)
      expect((await api("POST", path, body)).status).toBe(201);
  subscription_id = await company.subscribe(FLAT, {
    name: "Acme production",
    external_subscription_id: "acme-eu-1",
    started_at: "2026-01-01T00:00:00Z",
  });
  await company.run({ period: "2026-01" });
  client_user = await company.addUser("client", company.client_id);
  const prefixes = ["a", "A", "ab", "B", "bà", "%", "_", "\\", "'", "x y"];
  names = prefixes.flatMap((prefix) => ["", "1", " b", "Ab", "%z"].map((rest) => `${prefix}${rest}`));
  const at = "2026-03-01T00:00:00.000Z";
  const third = await fixture.addCompany();
  await fixture.service.deps.store.tx((q) =>
    insertRows(
      q,
      q.use(clientTable),
      names.map((name) => ({ name, company_id: third.company_id, created_at: at, updated_at: at })),
    ),
  );
  many = third;
});
let many: Company;

describe("GET /search", () => {
  test("finds each kind by name, external id and number, what begins with the text first", async () => {
    expect(briefly(await found(company.api, "acme"))).toEqual([
      "client Acme",
      "client The ACME works",
      "product Acme gateway",
      "subscription Acme production",
    ]);
    const [subscription] = await found(company.api, "EU-1");
    expect(subscription).toEqual({
      kind: "subscription",
      id: subscription_id,
      name: "Acme production",
      note: "acme-eu-1",
      path: `/subscriptions/${subscription_id}`,
    });
    const bills = (await company.api("GET", "/billing-records")).body.data;
    const bill = (await found(company.api, `#${bills[0].id}`)).find(({ kind }) => kind === "billing_record");
    expect(bill).toMatchObject({ id: bills[0].id, name: "2026-01-01 to 2026-02-01: EUR 31.00" });
    const user = (await found(company.api, company.admin_email)).find(({ kind }) => kind === "user");
    expect(user).toMatchObject({ note: company.admin_email });
  });

  test("shows paths that lead to what was found", async () => {
    for (const { path } of [...(await found(company.api, "acme")), ...(await found(company.api, "1"))])
      if (path !== null) expect([path, (await company.api("GET", path)).status]).toEqual([path, 200]);
  });

  test("finds nothing of another company, deleted or not permitted", async () => {
    const [{ id }] = await found(other.api, "wool");
    expect((await other.api("DELETE", `/clients/${id}`)).status).toBe(200);
    expect(await found(other.api, "wool")).toEqual([]);
    expect(briefly(await found(company.api, "wool"))).toEqual(["client 100% _wool_"]);
    expect(await found(other.api, "acme-eu")).toEqual([]);
    const analyst = await company.addUser("analyst");
    expect(await found(analyst, company.admin_email)).toEqual([]);
    expect(briefly(await found(analyst, "acme"))).toContain("client Acme");
  });

  test("under /my finds the client's own subscriptions and bills", async () => {
    const another = await company.addClient();
    await company.subscribe(FLAT, { name: "Acme of others", client_id: another });
    const own = await found(client_user, "acme", "/my/search");
    expect(briefly(own)).toEqual(["subscription Acme production"]);
    expect((await client_user("GET", own[0].path)).status).toBe(200);
    expect((await client_user("GET", "/search?q=acme")).status).toBe(403);
  });

  test.each([
    ["", "1 to 200 characters, not blank"],
    ["%20%20", "1 to 200 characters, not blank"],
  ])("refuses q=%p with the rule", async (q, message) => {
    const { status, body } = await company.api("GET", `/search?q=${q}`);
    expect([status, body.details]).toEqual([422, [{ path: "/q", message: `must be ${message}` }]]);
  });

  test("of random texts is what a plain model finds", async () => {
    const all = (await many.api("GET", "/clients")).body.data;
    const fold = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.constantFrom(...names),
          fc.string({ unit: fc.constantFrom("a", "B", "%", "_", " ", "1", "\\", "'", "z") }),
        ),
        async (text) => {
          const asked = text.trim();
          fc.pre(asked !== "");
          const part = fold(asked);
          const inside = all.filter(({ name }: Json) => fold(name).includes(part));
          const ids = new Set(inside.map(({ id }: Json) => id));
          if (/^\d+$/.test(asked)) for (const { id } of all) if (id === Number(asked)) ids.add(id);
          const rows = (await found(many.api, text)).filter(({ kind }) => kind === "client");
          expect(rows).toHaveLength(Math.min(5, ids.size));
          for (const { id } of rows) expect(ids.has(id)).toBe(true);
          const begins = rows.map(({ name }) => fold(name).startsWith(part));
          const possible = inside.filter(({ name }: Json) => fold(name).startsWith(part)).length;
          expect(begins.filter(Boolean)).toHaveLength(Math.min(5, possible));
        },
      ),
      { numRuns: 60 },
    );
  });
});
