import { expect, test } from "bun:test";
import { openPasswords } from "../../src/core/passwords.ts";

test("hashes take what OWASP asks of Argon2id", async () => {
  const passwords = openPasswords();
  const hash = await passwords.hash("correct horse battery");
  expect(hash).toStartWith("$argon2id$v=19$m=19456,t=2,");
  expect(await passwords.verify("correct horse battery", hash)).toBe(true);
  expect(await passwords.verify("correct horse batterx", hash)).toBe(false);
});
