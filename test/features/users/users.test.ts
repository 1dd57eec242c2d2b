import { afterAll, beforeAll, expect, test } from "bun:test";
import { type House, PASSWORD, startHouse } from "../../harness.ts";

let house: House;

beforeAll(async () => {
  house = await startHouse();
});
afterAll(() => house.stop());

const user = (more: object = {}) => ({
  email: `${crypto.randomUUID()}@example.com`,
  password: PASSWORD,
  role: "manager",
  ...more,
});

test("an admin adds, reads, lists, changes and deletes a user", async () => {
  const { email } = user();
  const created = await house.api("POST", "/users", user({ email }));
  expect(created.status).toBe(201);
  const { id } = created.body.data;
  expect(created.body.data).toMatchObject({
    email,
    role: "manager",
    client_id: null,
    company_id: house.company_id,
  });
  expect(JSON.stringify(created.body)).not.toContain("password");
  expect((await house.api("GET", `/users/${id}`)).body.data).toEqual(created.body.data);
  expect((await house.api("GET", `/users?search=${email}`)).body.data).toEqual([created.body.data]);
  const changed = await house.api("PUT", `/users/${id}`, { email, role: "analyst" });
  expect(changed.body.data).toMatchObject({ id, role: "analyst" });
  expect((await house.api("DELETE", `/users/${id}`)).status).toBe(200);
  expect((await house.api("GET", `/users/${id}`)).status).toBe(404);
  expect((await house.anonymous("POST", "/login", { email, password: PASSWORD })).status).toBe(401);
});

test("a changed role and a deletion end the user's tokens; a changed email does not", async () => {
  const { email } = user();
  const { id } = (await house.api("POST", "/users", user({ email }))).body.data;
  const api = await house.signIn(email);
  await house.api("PUT", `/users/${id}`, { email: `new-${email}`, role: "manager" });
  expect((await api("GET", "/me")).body.data.email).toBe(`new-${email}`);
  await house.api("PUT", `/users/${id}`, { email, role: "analyst" });
  expect((await api("GET", "/me")).status).toBe(401);
  const again = await house.signIn(email);
  await house.api("DELETE", `/users/${id}`);
  expect((await again("GET", "/me")).status).toBe(401);
});

test("the last admin stays", async () => {
  const tenant = await house.addTenant();
  const { data: me } = (await tenant.api("GET", "/me")).body;
  expect((await tenant.api("DELETE", `/users/${me.id}`)).status).toBe(409);
  expect((await tenant.api("PUT", `/users/${me.id}`, { email: me.email, role: "analyst" })).status).toBe(409);
  const second = (await tenant.api("POST", "/users", user({ role: "admin" }))).body.data;
  // Two admins who delete each other at once: one must remain.
  const other = await house.signIn(second.email);
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
  const { status, body } = await house.api("POST", "/users", user(more));
  expect(status).toBe(422);
  expect(body.details[0].path).toBe(path);
});

test("an email is one user's, in the whole deployment and in any case", async () => {
  const other = await house.addTenant();
  const { email } = user();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      (i % 2 ? house : other).api("POST", "/users", user({ email: i % 3 ? email : email.toUpperCase() })),
    ),
  );
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  const refused = answers.find(({ status }) => status !== 201);
  expect(refused).toMatchObject({ status: 422, body: { details: [{ path: "/email" }] } });
});

test("another company's client and user are not there", async () => {
  const other = await house.addTenant();
  const client = (await other.api("POST", "/clients", { name: "theirs" })).body.data;
  expect((await house.api("POST", "/users", user({ role: "client", client_id: client.id }))).status).toBe(
    422,
  );
  const theirs = (await other.api("GET", "/me")).body.data;
  expect((await house.api("GET", `/users/${theirs.id}`)).status).toBe(404);
  expect(
    (await house.api("PUT", `/users/${theirs.id}`, { email: theirs.email, role: "analyst" })).status,
  ).toBe(404);
  expect((await house.api("DELETE", `/users/${theirs.id}`)).status).toBe(404);
});

test.each(["manager", "analyst"] as const)("a %s may not see or change users", async (role) => {
  const api = await house.addUser(house, role);
  expect((await api("GET", "/users")).status).toBe(403);
  expect((await api("POST", "/users", user())).status).toBe(403);
});
