import { beforeAll, expect, test } from "bun:test";
import { type Api, PASSWORD, startService, TestClock, useService } from "../../support/harness.ts";
import { connect, grantAccess } from "../../support/mcp_clients.ts";
import { addUser, fillCompany, NOW, type FilledCompany } from "../../mcp/fixtures.ts";

const clock = new TestClock(NOW);
const service = useService({ clock, env: { PUBLIC_URL: "https://billing.example.com" } });
let fixture: FilledCompany;

beforeAll(async () => {
  fixture = await fillCompany(service, clock);
});

const ORIGIN = "https://billing.example.com/api/v1";

/** Follows a link as a browser would, at this server's own address. */
function follow(url: string) {
  expect(url).toStartWith(`${ORIGIN}/usage/exports/`);
  return service.anonymous("GET", url.slice(ORIGIN.length));
}

test("a link gives the same file as the export, without a token", async () => {
  const search = { format: "csv", relative: "last_month" };
  const { status, body } = await service.api("POST", "/usage/exports", search);
  expect([status, body.data.expires_at]).toEqual([200, "2026-03-10T12:15:00.000Z"]);
  const file = await follow(body.data.url);
  expect([file.status, file.headers.get("content-type")]).toEqual([
    200,
    "text/csv; charset=utf-8; header=present",
  ]);
  // A proxy that kept the file would give it out after the link's end.
  expect(file.headers.get("cache-control")).toBe("private, no-store");
  expect(file.body).toBe((await service.api("POST", "/usage/export", search)).body);
  expect(file.body.trim().split("\n")).toHaveLength(3);
});

test("a link ends after 15 minutes, and can't be changed", async () => {
  const { url } = (await service.api("POST", "/usage/exports", { format: "csv" })).body.data;
  clock.set("2026-03-10T12:14:59Z");
  expect((await follow(url)).status).toBe(200);
  expect((await follow(`${url.slice(0, -3)}AAA`)).status).toBe(404);
  clock.set("2026-03-10T12:15:00Z");
  expect((await follow(url)).status).toBe(404);
  clock.set(NOW);
});

test("a link is no token and a token no link", async () => {
  const { url } = (await service.api("POST", "/usage/exports", { format: "csv" })).body.data;
  const authorization = `Bearer ${url.split("/").at(-1)}`;
  expect((await service.anonymous("GET", "/me", undefined, { authorization })).status).toBe(401);
  const login = { email: service.admin_email, password: PASSWORD };
  const { token } = (await service.anonymous("POST", "/login", login)).body;
  expect((await follow(`${ORIGIN}/usage/exports/${token}`)).status).toBe(404);
});

test("a link ends with its user's tokens, and follows the user's rights", async () => {
  const { id, email } = await addUser(service.api, "client", fixture.client);
  const api = await service.signIn(email);
  const { url } = (await api("POST", "/my/usage/exports", { format: "csv" })).body.data;
  expect((await follow(url)).status).toBe(200);
  const change = { email, role: "client", client_id: fixture.client, password: "another long password" };
  expect((await service.api("PUT", `/users/${id}`, change)).status).toBe(200);
  expect((await follow(url)).status).toBe(404);
});

test("a link ends with the token that it was made by", async () => {
  const [one, other] = [await service.signIn(service.admin_email), await service.signIn(service.admin_email)];
  const linkBy = async (api: Api) => (await api("POST", "/usage/exports", { format: "csv" })).body.data.url;
  const [mine, others] = [await linkBy(one), await linkBy(other)];
  expect((await one("POST", "/logout")).status).toBe(200);
  expect((await follow(mine)).status).toBe(404);
  expect((await follow(others)).status).toBe(200);
});

test("a link that an agent made ends with what it was granted", async () => {
  const own = await startService();
  try {
    const agent = await connect(own, await grantAccess(own, own.admin_email));
    await agent.list();
    const { text } = await agent.call("billing_export_usage", { format: "csv" });
    const followed = async () => {
      const [path = "no link"] = /\/usage\/exports\/[\w.-]+/.exec(text) ?? [];
      return (await own.anonymous("GET", path)).status;
    };
    expect(await followed()).toBe(200);
    const [{ id }] = (await own.api("GET", "/me/authorizations")).body.data;
    expect((await own.api("DELETE", `/me/authorizations/${id}`)).status).toBe(200);
    expect(await followed()).toBe(404);
    await agent.close();
  } finally {
    await own.stop();
  }
});

test("a link for ids of others, or too long a search, is refused at once", async () => {
  const other = await service.addTenant();
  const foreign = (await other.api("POST", "/clients", { name: "Foreign" })).body.data.id;
  const refused = await service.api("POST", "/usage/exports", { format: "csv", client_ids: [foreign] });
  expect(refused.status).toBe(403);
  const ids = Array.from({ length: 1_000 }, (_, i) => `subscription-${i}`);
  const long = await service.api("POST", "/usage/exports", { format: "csv", external_subscription_ids: ids });
  expect([long.status, long.body.error]).toEqual([422, expect.stringContaining("use fewer ids")]);
});
