import { describe, expect, test } from "bun:test";
import { userLinkTable } from "../../../src/access/user_links/tables.ts";
import { openBrowser } from "../../support/browser.ts";
import { apiOf, PASSWORD, type Tenant, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";

const NOW = "2026-03-10T12:00:00Z";
const clock = new TestClock(NOW);
const service = useService({ clock, env: { PUBLIC_URL: "https://billing.example.com" } });
const CHOSEN = "a password of one's own";
const ENDED = "The link was used, replaced by another or has expired: ask for a new one";

/** A tenant with a user who was invited. */
async function invite(user: object = {}) {
  clock.set(NOW);
  const tenant = await service.addTenant();
  const email = `invited${tenant.company_id}@example.com`;
  const added = await tenant.api("POST", "/users", { email, role: "manager", ...user });
  expect(added.status).toBe(201);
  const { id } = added.body.data;
  return { tenant, email, id, link: await linkFor(tenant, id) };
}

async function linkFor(
  tenant: Tenant,
  id: number,
): Promise<{ url: string; token: string; expires_at: string }> {
  const { status, body } = await tenant.api("POST", `/users/${id}/link`);
  expect(status).toBe(201);
  return body.data;
}

const read = (token: string) => service.anonymous("POST", "/user-links/read", { token });
const accept = (token: string, new_password = CHOSEN) =>
  service.anonymous("POST", "/user-links/accept", { token, new_password });
const login = async (email: string, password: string) =>
  (await service.anonymous("POST", "/login", { email, password })).status;

describe("a link", () => {
  test("lets an invited user choose a password, and tells whose it is", async () => {
    const { tenant, email, id, link } = await invite();
    expect(link).toEqual({
      url: `https://billing.example.com/console/link#${link.token}`,
      token: expect.stringMatching(/^[\w-]{43}$/),
      expires_at: "2026-03-13T12:00:00.000Z",
    });
    const { name } = (await tenant.api("GET", "/company")).body.data;
    const { body } = await read(link.token);
    expect(body.data).toEqual({
      email,
      company_id: tenant.company_id,
      company_name: name,
      expires_at: link.expires_at,
    });
    const done = await accept(link.token);
    expect([done.status, done.body]).toEqual([200, { data: {} }]);
    expect(await login(email, CHOSEN)).toBe(200);
    const { data } = (await tenant.api("GET", `/audit-log?target_type=user&target_id=${id}`)).body;
    const known = data.map(
      ({ operation, actor, withheld }: Record<string, unknown> & { actor: { email: string } }) => [
        operation,
        actor.email,
        withheld,
      ],
    );
    expect(known.slice(1)).toEqual([
      ["accept_user_link", email, ["/token", "/new_password"]],
      ["create_user_link", tenant.admin_email, []],
      ["create_user", tenant.admin_email, []],
    ]);
    expect(JSON.stringify(data)).not.toContain(link.token);
    expect(JSON.stringify(await stored())).not.toContain(link.token);
  });

  test("works once, also of many uses at once", async () => {
    const { email, link } = await invite();
    const uses = Array.from({ length: 6 }, (_, i) => accept(link.token, `${CHOSEN} ${i}`));
    const answers = await Promise.all(uses);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      200, 404, 404, 404, 404, 404,
    ]);
    const used = answers.findIndex(({ status }) => status === 200);
    expect(await login(email, `${CHOSEN} ${used}`)).toBe(200);
    for (const answer of [await read(link.token), await accept(link.token)])
      expect([answer.status, answer.body.error]).toEqual([404, ENDED]);
  });

  test("ends after 72 hours, with another link, with a new password and with its user", async () => {
    const { tenant, email, id, link } = await invite({ password: PASSWORD });
    const newer = await linkFor(tenant, id);
    expect((await read(link.token)).status).toBe(404);
    clock.set("2026-03-13T11:59:59.999Z");
    expect((await read(newer.token)).status).toBe(200);
    clock.set("2026-03-13T12:00:00Z");
    expect((await accept(newer.token)).status).toBe(404);
    clock.set(NOW);
    const own = await linkFor(tenant, id);
    const user = await service.signIn(email);
    const passwords = { current_password: PASSWORD, new_password: "the third password" };
    expect((await user("POST", "/me/password", passwords)).status).toBe(200);
    expect((await accept(own.token)).status).toBe(404);
    const reset = await linkFor(tenant, id);
    await tenant.api("PUT", `/users/${id}`, { email, role: "manager", password: PASSWORD });
    expect((await accept(reset.token)).status).toBe(404);
    const last = await linkFor(tenant, id);
    // A new role or email ends no invitation.
    await tenant.api("PUT", `/users/${id}`, { email: `new-${email}`, role: "analyst" });
    expect((await read(last.token)).body.data.email).toBe(`new-${email}`);
    expect((await tenant.api("DELETE", `/users/${id}`)).status).toBe(200);
    expect((await accept(last.token)).status).toBe(404);
  });

  test("ends all that the old password let in", async () => {
    const { tenant, email, id } = await invite({ password: PASSWORD });
    const browser = await openBrowser(service, email);
    const api = await service.signIn(email);
    const { token } = await linkFor(tenant, id);
    expect((await browser.api("GET", "/me")).status).toBe(200);
    expect((await accept(token)).status).toBe(200);
    expect([(await browser.api("GET", "/me")).status, (await api("GET", "/me")).status]).toEqual([401, 401]);
    expect([await login(email, PASSWORD), await login(email, CHOSEN)]).toEqual([401, 200]);
  });

  test("takes passwords by the rules, and stays when one is refused", async () => {
    const { email, link } = await invite();
    for (const wrong of ["short", "            ", "aaaaaaaaaaaaaaa", email]) {
      const { status, body } = await accept(link.token, wrong);
      expect([status, body.details[0].path]).toEqual([422, "/new_password"]);
    }
    expect((await accept(link.token)).status).toBe(200);
  });

  test("is an admin's to make, for users of the company", async () => {
    const { tenant, id } = await invite();
    const other = await service.addTenant();
    expect((await other.api("POST", `/users/${id}/link`)).status).toBe(404);
    expect((await tenant.api("POST", "/users/999999/link")).status).toBe(404);
    const manager = await service.addUser(tenant, "manager");
    expect((await manager("POST", `/users/${id}/link`)).status).toBe(403);
    expect((await service.anonymous("POST", `/users/${id}/link`)).status).toBe(401);
  });

  test("is not kept for repeats of a request", async () => {
    const { tenant, id } = await invite();
    const key = { "idempotency-key": "one" };
    expect((await tenant.api("POST", `/users/${id}/link`, undefined, key)).status).toBe(201);
    expect((await tenant.api("POST", `/users/${id}/link`, undefined, key)).status).toBe(409);
  });

  test("of nobody tells nothing", async () => {
    const { link } = await invite();
    for (const token of ["x", link.token.slice(1), `${link.token}x`, "A".repeat(43), "' OR 1=1 --"]) {
      for (const { status, body } of [await read(token), await accept(token)])
        expect([status, body.error]).toEqual([404, ENDED]);
    }
    for (const body of [{}, { token: "" }, { token: 1 }, { token: "A".repeat(201) }, { token: "x", more: 1 }])
      expect((await service.anonymous("POST", "/user-links/read", body)).status).toBe(422);
    // It is no token, either.
    const authorization = `Bearer ${link.token}`;
    expect((await apiOf(service.url, { authorization })("GET", "/me")).status).toBe(401);
  });
});

test("a user without a password cannot sign in, and a client user may be invited too", async () => {
  clock.set(NOW);
  const tenant = await service.addTenant();
  const { id: client_id } = (await tenant.api("POST", "/clients", { name: "Acme" })).body.data;
  const email = "ada@acme.example";
  const { id } = (await tenant.api("POST", "/users", { email, role: "client", client_id })).body.data;
  for (const password of ["", " ", "null", "undefined"])
    expect(await login(email, password)).toBe(password === "" ? 422 : 401);
  const { token } = await linkFor(tenant, id);
  expect((await accept(token)).status).toBe(200);
  expect(
    (await (await openBrowser(service, email, { password: CHOSEN })).api("GET", "/my/plans")).status,
  ).toBe(200);
});

test("links that have expired are forgotten by the job", async () => {
  const { tenant } = await invite();
  const left = async () =>
    (await stored()).filter(({ company_id }) => company_id === tenant.company_id).length;
  await runNamedJob(service, "sessions_prune");
  expect(await left()).toBe(1);
  clock.set("2026-03-13T12:00:00Z");
  await runNamedJob(service, "sessions_prune");
  expect(await left()).toBe(0);
});

/** The links on record, of any user. */
async function stored() {
  const { read: q } = service.deps.store;
  return q.select().from(q.use(userLinkTable));
}
