import { expect, test } from "bun:test";
import { signIn } from "../../../src/access/sessions/sign_in.ts";
import { PASSWORD, useService } from "../../support/harness.ts";

const service = useService();

/** How many password hashes a sign-in makes, whether it succeeds or not. */
async function hashesOf(login: { email: string; password?: string; company_id?: number }): Promise<number> {
  const ctx = service.deps.openContext({
    actor: { kind: "anonymous" },
    origin: "rest",
    request_id: "test",
    address: null,
  });
  let hashes = 0;
  const passwords: typeof ctx.passwords = {
    ...ctx.passwords,
    verify(password, hash) {
      hashes++;
      return ctx.passwords.verify(password, hash);
    },
  };
  await signIn({ ...ctx, passwords }, { password: PASSWORD, ...login }).catch(() => undefined);
  return hashes;
}

test("a sign-in makes one hash for a company alone, two where another may have the email; decision 0151", async () => {
  const { admin_email: email, company_id } = service;
  const unknown = "nobody@example.com";
  expect(await hashesOf({ email })).toBe(1);
  expect(await hashesOf({ email, password: "not the password" })).toBe(1);
  expect(await hashesOf({ email: unknown })).toBe(1);

  const other = await service.addTenant();
  expect(await hashesOf({ email })).toBe(2);
  expect(await hashesOf({ email: unknown })).toBe(2);
  const user = { email, name: "U", role: "analyst", password: "another good password" };
  expect((await other.api("POST", "/users", user)).status).toBe(201);
  expect(await hashesOf({ email })).toBe(2);
  expect(await hashesOf({ email, password: "not the password" })).toBe(2);
  // The company is named: only its account is looked for.
  expect(await hashesOf({ email, company_id })).toBe(1);
  expect(await hashesOf({ email, company_id: other.company_id })).toBe(1);
  expect(await hashesOf({ email: unknown, company_id })).toBe(1);
});
