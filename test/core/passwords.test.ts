import { expect, test } from "bun:test";
import { AppError } from "../../src/core/errors.ts";
import { SHARED_LIMITS } from "../../src/core/limits.ts";
import { openPasswords } from "../../src/core/passwords.ts";

test("hashes take what OWASP asks of Argon2id", async () => {
  const passwords = openPasswords();
  const hash = await passwords.hash("correct horse battery");
  expect(hash).toStartWith("$argon2id$v=19$m=19456,t=2,");
  expect(await passwords.verify("correct horse battery", hash)).toBe(true);
  expect(await passwords.verify("correct horse batterx", hash)).toBe(false);
});

test("a refusal for too many hashes at once is over with them, also where it was the first without a hash", async () => {
  const passwords = openPasswords({ memoryCost: 8, timeCost: 1 });
  const known = await passwords.hash("correct horse battery");
  const most = SHARED_LIMITS.password_hashes + SHARED_LIMITS.password_hashes_waiting;
  const crowd = Array.from({ length: most }, () => passwords.hash("another"));
  const kindOf = (error: unknown) => (error instanceof AppError ? error.kind : error);
  expect(await passwords.verify("correct horse battery", undefined).catch(kindOf)).toBe("rate_limited");
  await Promise.all(crowd);
  expect(await passwords.verify("correct horse battery", undefined).catch(kindOf)).toBe(false);
  expect(await passwords.verify("correct horse battery", known)).toBe(true);
});
