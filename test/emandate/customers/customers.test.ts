import { beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/emandate/limits.ts";
import { MANDATE_STATUSES } from "../../../src/emandate/mandates/model.ts";
import { type Json, type Tenant, useService } from "../../support/harness.ts";
import { addCatalog } from "../../billing/subscriptions/fixtures.ts";
import { onboard } from "../products/fixtures.ts";
import { addMandate } from "../payments/fixtures.ts";

const service = useService();
const { api } = service;
let other: Tenant;

beforeAll(async () => {
  other = await service.addTenant();
});

const PATH = "/emandate/customers";
const IC = "900131145678";

describe("e-mandate customers", () => {
  test("the detail has all twelve digits, the list only the last four", async () => {
    const given = { name: "Siti Aminah", email: "siti@example.com", phone: "+60123456789", ic_number: IC };
    const { id } = await onboard(service, service, given);
    const { status, body } = await api("GET", `${PATH}/${id}`);
    expect(status).toBe(200);
    const { created_at } = body.data;
    const detail = {
      id,
      company_id: service.company_id,
      ...given,
      mandate_count: 0,
      active_mandate_count: 0,
      created_at,
      updated_at: created_at,
    };
    expect(body).toEqual({ data: detail });
    const list = await api("GET", `${PATH}?search=siti`);
    expect(list.body).toEqual({
      data: [{ ...detail, ic_number: "********5678" }],
      meta: { page: 1, limit: 20, total: 1, total_pages: 1 },
    });
    expect(JSON.stringify(list.body)).not.toContain(IC.slice(0, 8));
  });

  test("what is not known is null, in the list too", async () => {
    const { id } = await onboard(service, service, { name: "Nothing known" });
    const detail = (await api("GET", `${PATH}/${id}`)).body.data;
    expect(detail).toMatchObject({ phone: null, ic_number: null });
    expect((await api("GET", `${PATH}?search=Nothing known`)).body.data).toEqual([detail]);
  });

  test("mandates are counted, those that are active once more", async () => {
    const { id } = await onboard(service, service, { name: "Counted" });
    const { id: bystander } = await onboard(service, service, { name: "Counted, too" });
    for (const status of MANDATE_STATUSES)
      await addMandate(service.deps, service, null, { status, customer_id: id });
    await addMandate(service.deps, service, null, { status: "active", customer_id: id });
    const counts = { mandate_count: MANDATE_STATUSES.length + 1, active_mandate_count: 2 };
    expect((await api("GET", `${PATH}/${id}`)).body.data).toMatchObject(counts);
    expect((await api("GET", `${PATH}?search=Counted`)).body.data).toMatchObject([
      { id, ...counts },
      { id: bystander, mandate_count: 0, active_mandate_count: 0 },
    ]);
  });

  test("the list is always one page, by id, and searched by name and email", async () => {
    const tenant = await service.addTenant();
    const people = [
      ["Ahmad bin Ali", "ahmad@example.com"],
      ["ALIA", "x@example.com"],
      ["100% Bo", "bo_b@example.org"],
      ["Chandran", "alim@example.org"],
    ];
    for (const [name = "", email = ""] of people) await onboard(service, tenant, { name, email });
    const found = async (query: string) => {
      const { body } = await tenant.api("GET", `${PATH}${query}`);
      return { names: body.data.map(({ name }: Json) => name), meta: body.meta };
    };
    expect(await found("")).toEqual({
      names: people.map(([name]) => name),
      meta: { page: 1, limit: 20, total: 4, total_pages: 1 },
    });
    expect(await found("?page=2&limit=3")).toEqual({
      names: ["Chandran"],
      meta: { page: 2, limit: 3, total: 4, total_pages: 2 },
    });
    expect((await found("?search=ali")).names).toEqual(["Ahmad bin Ali", "ALIA", "Chandran"]);
    expect((await found("?search=EXAMPLE.ORG")).names).toEqual(["100% Bo", "Chandran"]);
    expect((await found("?search=%25")).names).toEqual(["100% Bo"]);
    expect((await found("?search=_")).names).toEqual(["100% Bo"]);
    expect((await found("?search=900131")).names).toEqual([]);
  });

  test.each([
    ["?page=0", "/page", "must be a whole number from 1 to 1000000000"],
    ["?limit=101", "/limit", `must be a whole number from 1 to ${LIMITS.emandate_page_limit}`],
    ["?search=", "/search", "must be 1 to 200 characters, a part of what is looked for"],
    ["?email=a", "/email", expect.stringContaining("is not a known field")],
  ])("%s is refused, never clamped", async (query, path, message) => {
    const { status, body } = await api("GET", `${PATH}${query}`);
    expect([status, body.details]).toEqual([422, [{ path, message }]]);
  });

  test("an id that is none is a 422, another company's customer a 404", async () => {
    for (const id of ["abc", "0", "9007199254740992"])
      expect((await api("GET", `${PATH}/${id}`)).body.details[0].path).toBe("/id");
    const { id } = await onboard(service, other, { email: "shared@example.com" });
    expect((await api("GET", `${PATH}/${id}`)).status).toBe(404);
    expect((await other.api("GET", `${PATH}/${id}`)).status).toBe(200);
    expect((await api("GET", `${PATH}?search=shared`)).body.data).toEqual([]);
  });

  test("analysts read; client users and strangers get nothing", async () => {
    const { id } = await onboard(service, service);
    const analyst = await service.addUser(service, "analyst");
    const client = await service.addUser(service, "client", (await addCatalog(service)).client_id);
    for (const path of [PATH, `${PATH}/${id}`]) {
      expect((await analyst("GET", path)).status).toBe(200);
      expect((await client("GET", path)).status).toBe(403);
      expect((await service.anonymous("GET", path)).status).toBe(401);
    }
  });
});

describe("onboarding", () => {
  const detail = async (id: number) => (await api("GET", `${PATH}/${id}`)).body.data;

  test("one email is one customer: its name stays, blanks are filled, what is known stays", async () => {
    const email = "known@example.com";
    const { id } = await onboard(service, service, { name: "First", email });
    const again = await onboard(service, service, { name: "Second", email, phone: "+60123456789" });
    expect(again.id).toBe(id);
    await onboard(service, service, { email, ic_number: IC, phone: "+60198765432" });
    await onboard(service, service, { email, ic_number: IC });
    expect(await detail(id)).toMatchObject({ name: "First", email, phone: "+60123456789", ic_number: IC });
  });

  test("another IC number is refused, and nothing else of it is kept", async () => {
    const email = "other-ic@example.com";
    const { id } = await onboard(service, service, { email, ic_number: IC });
    const refused = onboard(service, service, { email, ic_number: "850505105555", phone: "+60123456789" });
    expect(await refused.catch((error) => error)).toMatchObject({
      kind: "invalid",
      details: [{ path: "/ic", message: "must be the IC number on record for the customer with this email" }],
    });
    expect(await detail(id)).toMatchObject({ ic_number: IC, phone: null });
  });

  test("two companies may have a customer with one email", async () => {
    const email = "both@example.com";
    const ours = await onboard(service, service, { email, ic_number: IC });
    const theirs = await onboard(service, other, { email, ic_number: "850505105555" });
    expect(ours.id).not.toBe(theirs.id);
  });

  test("of many at once with a new email, all get the one customer", async () => {
    const email = "race@example.com";
    const made = await Promise.all(
      Array.from({ length: 20 }, (_, i) => onboard(service, service, { email, name: `Racer ${i}` })),
    );
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect((await api("GET", `${PATH}?search=${email}`)).body.meta.total).toBe(1);
  });
});
