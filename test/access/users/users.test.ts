import { describe, expect, test } from "bun:test";
import { apiOf, type Json, PASSWORD, startService, useService } from "../../support/harness.ts";

const service = useService();

const user = (more: object = {}) => ({
  email: `${crypto.randomUUID()}@example.com`,
  password: PASSWORD,
  role: "manager",
  ...more,
});

test("an admin adds, reads, lists, changes and deletes a user", async () => {
  const { email } = user();
  const created = await service.api("POST", "/users", user({ email }));
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  expect(created.body.data).toMatchObject({
    email,
    role: "manager",
    client_id: null,
    company_id: service.company_id,
  });
  expect(JSON.stringify(created.body)).not.toContain("password");
  expect((await service.api("GET", `/users/${id}`)).body.data).toEqual(created.body.data);
  expect((await service.api("GET", `/users?search=${email}`)).body.data).toEqual([created.body.data]);
  const changed = await service.api("PUT", `/users/${id}`, { email, role: "analyst" });
  expect(changed.body.data).toMatchObject({ id, role: "analyst" });
  expect((await service.api("DELETE", `/users/${id}`)).status).toBe(200);
  expect((await service.api("GET", `/users/${id}`)).status).toBe(404);
  expect((await service.anonymous("POST", "/login", { email, password: PASSWORD })).status).toBe(401);
});

test("a changed role and a deletion end the user's tokens; a changed email does not", async () => {
  const { email } = user();
  const { id } = (await service.api("POST", "/users", user({ email }))).body.data;
  const api = await service.signIn(email);
  await service.api("PUT", `/users/${id}`, { email: `new-${email}`, role: "manager" });
  expect((await api("GET", "/me")).body.data.email).toBe(`new-${email}`);
  await service.api("PUT", `/users/${id}`, { email, role: "analyst" });
  expect((await api("GET", "/me")).status).toBe(401);
  const again = await service.signIn(email);
  await service.api("DELETE", `/users/${id}`);
  expect((await again("GET", "/me")).status).toBe(401);
});

test("the last admin stays", async () => {
  const tenant = await service.addTenant();
  const { data: me } = (await tenant.api("GET", "/me")).body;
  expect((await tenant.api("DELETE", `/users/${me.id}`)).status).toBe(409);
  expect((await tenant.api("PUT", `/users/${me.id}`, { email: me.email, role: "analyst" })).status).toBe(409);
  const second = (await tenant.api("POST", "/users", user({ role: "admin" }))).body.data;
  // Two admins who delete each other at once: one must remain.
  const other = await service.signIn(second.email);
  const answers = await Promise.all([
    tenant.api("DELETE", `/users/${second.id}`),
    other("DELETE", `/users/${me.id}`),
  ]);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
});

test.each([
  [{ email: "no email" }, "/email"],
  [{ password: "short" }, "/password"],
  [{ role: "owner" }, "/role"],
  [{ role: "client" }, "/client_id"],
  [{ role: "manager", client_id: 1 }, "/client_id"],
  [{ role: "client", client_id: 999_999 }, "/client_id"],
  [{ company_id: 7 }, "/company_id"],
])("POST /users answers 422 naming the field: %j", async (more, path) => {
  const { status, body } = await service.api("POST", "/users", user(more));
  expect(status).toBe(422);
  expect(body.details[0].path).toBe(path);
});

test("passwords that anyone would try first are refused wherever one is set", async () => {
  const tenant = await service.addTenant();
  const email = "administrator@example.com";
  const bad = [
    email,
    "Administrator@Example.com",
    ` ${email} `,
    "administrator",
    " ".repeat(12),
    "a".repeat(12),
    "aAaAaAaAaAaA",
    "é".repeat(20),
  ];
  for (const password of bad) {
    const { status, body } = await tenant.api("POST", "/users", user({ email, password }));
    expect([password, status, body.details?.[0].path]).toEqual([password, 422, "/password"]);
  }
  const { id } = (await tenant.api("POST", "/users", user({ email }))).body.data;
  const api = await service.signIn(email);
  for (const new_password of bad) {
    const change = { current_password: PASSWORD, new_password };
    expect((await api("POST", "/me/password", change)).body.details?.[0].path).toBe("/new_password");
    const put = await tenant.api("PUT", `/users/${id}`, { email, role: "manager", password: new_password });
    expect(put.body.details?.[0].path).toBe("/password");
  }
  // Another's email and a long dull one are not for us to judge.
  expect((await tenant.api("POST", "/users", user({ password: email }))).status).toBe(201);
});

test("an email is one user's of a company, in any case", async () => {
  const { email } = user();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      service.api("POST", "/users", user({ email: i % 3 ? email : email.toUpperCase() })),
    ),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  const refused = answers.find(({ status }) => status !== 201);
  expect(refused).toMatchObject({ status: 422, body: { details: [{ path: "/email" }] } });
});

describe("an email that another company's user has", () => {
  test("is taken like any other, so that nobody learns who is here", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    const { email } = user();
    const theirs = await one.api("POST", "/users", user({ email }));
    const ours = await other.api("POST", "/users", user({ email }));
    expect([ours.status, Object.keys(ours.body.data)]).toEqual([201, Object.keys(theirs.body.data)]);
    const renamed = await other.api("POST", "/users", user());
    const change = { email: one.admin_email, role: "manager" };
    expect((await other.api("PUT", `/users/${renamed.body.data.id}`, change)).status).toBe(200);
  });

  test("signs into the account whose password it is", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    const email = one.admin_email;
    const password = "another long password";
    await other.api("POST", "/users", user({ email, password }));
    const companyOf = async (given: string) =>
      (await (await service.signIn(email, given))("GET", "/me")).body.data.company_id;
    expect(await companyOf(PASSWORD)).toBe(one.company_id);
    expect(await companyOf(password)).toBe(other.company_id);
    expect((await service.anonymous("POST", "/login", { email, password: "neither" })).status).toBe(401);
  });

  test("with the same password in both it is the older one, or that of the company that is named", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    const email = one.admin_email;
    await other.api("POST", "/users", user({ email }));
    const companyOf = async (company_id?: number) => {
      const { status, body } = await service.anonymous("POST", "/login", {
        email,
        password: PASSWORD,
        company_id,
      });
      if (status !== 200) return status;
      const me = await apiOf(service.url, { authorization: `Bearer ${body.token}` })("GET", "/me");
      return me.body.data.company_id;
    };
    expect(await companyOf()).toBe(one.company_id);
    expect(await companyOf(other.company_id)).toBe(other.company_id);
    expect(await companyOf(one.company_id)).toBe(one.company_id);
    expect(await companyOf(service.company_id)).toBe(401);
  });

  test("a failed sign-in is in the audit log of both, one that fits either in none", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    const email = one.admin_email;
    await other.api("POST", "/users", user({ email, password: "another long password" }));
    await service.signIn(email, "another long password");
    await service.signIn(email);
    await service.anonymous("POST", "/login", { email, password: "neither" });
    await Bun.sleep(300);
    for (const { api } of [one, other]) {
      const { data } = (await api("GET", "/audit-log?operation=login")).body;
      expect(data.filter(({ outcome }: Json) => outcome === "refused")).toHaveLength(1);
    }
  });

  test("an account of one's own beside it is no way to guess more often, and tells nothing", async () => {
    const limited = await startService({ env: { RATE_LIMIT_ENABLED: "true", RATE_LIMIT_LOGIN: "3" } });
    const victim = await limited.addTenant();
    const email = victim.admin_email;
    const guesser = await limited.addTenant();
    const login = async (password: string, of = email) =>
      (await limited.anonymous("POST", "/login", { email: of, password })).status;
    // One email with an account elsewhere, one without: what is answered is the same.
    const bare = "nobody.else@example.com";
    for (const own of [email, bare]) {
      const added = await guesser.api("POST", "/users", user({ email: own, password: "the guesser's own" }));
      expect(added.status).toBe(201);
    }
    const sequence = [
      "the guesser's own",
      "the guesser's own",
      "the guesser's own",
      "wrong",
      "wrong",
      "wrong",
      "wrong",
    ];
    for (const own of [email, bare]) {
      const statuses = [];
      for (const password of sequence) statuses.push(await login(password, own));
      expect(statuses).toEqual([200, 200, 200, 401, 401, 401, 429]);
    }
    // Signing into the one failed for the other, which is past its limit: also the right password finds nothing.
    expect(await login(PASSWORD)).toBe(429);
    await limited.stop();
  });
});

test("a user has a name, where one is given", async () => {
  const { email } = user();
  const created = await service.api("POST", "/users", user({ email, name: "  Aisyah binti Omar " }));
  expect([created.status, created.body.data.name]).toEqual([201, "Aisyah binti Omar"]);
  const { id } = created.body.data;
  const put = async (more: object) =>
    (await service.api("PUT", `/users/${id}`, { email, role: "analyst", ...more })).body.data.name;
  expect(await put({})).toBe("Aisyah binti Omar");
  expect(await put({ name: "Aisyah" })).toBe("Aisyah");
  expect((await (await service.signIn(email))("GET", "/me")).body.data.name).toBe("Aisyah");
  expect(await put({ name: null })).toBeNull();
  expect((await service.api("POST", "/users", user())).body.data.name).toBeNull();
  for (const name of ["", "  ", 7, "x".repeat(201)]) {
    const { status, body } = await service.api("POST", "/users", user({ name }));
    expect([status, body.details[0].path]).toEqual([422, "/name"]);
  }
});

test("another company's client and user are not there", async () => {
  const other = await service.addTenant();
  const client = (await other.api("POST", "/clients", { name: "theirs" })).body.data;
  expect((await service.api("POST", "/users", user({ role: "client", client_id: client.id }))).status).toBe(
    422,
  );
  const theirs = (await other.api("GET", "/me")).body.data;
  expect((await service.api("GET", `/users/${theirs.id}`)).status).toBe(404);
  expect(
    (await service.api("PUT", `/users/${theirs.id}`, { email: theirs.email, role: "analyst" })).status,
  ).toBe(404);
  expect((await service.api("DELETE", `/users/${theirs.id}`)).status).toBe(404);
});

test.each(["manager", "analyst"] as const)("a %s may not see or change users", async (role) => {
  const api = await service.addUser(service, role);
  expect((await api("GET", "/users")).status).toBe(403);
  expect((await api("POST", "/users", user())).status).toBe(403);
});
