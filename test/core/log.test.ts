import { expect, test } from "bun:test";
import { DrizzleQueryError } from "drizzle-orm";
import { withoutParameters } from "../../src/core/log.ts";

test("a failed query is logged without its parameters, wherever they stand", () => {
  const hash = "$argon2id$v=19$secret";
  const error = new DrizzleQueryError(
    'insert into "users" values ($1, $2)',
    ["u@example.com", hash],
    new Error("read-only"),
  );
  expect(error.message).toContain(hash);
  const logged = JSON.stringify(withoutParameters(error));
  expect(logged).toContain("insert into");
  expect(logged).toContain("read-only");
  expect(logged).not.toContain(hash);
  expect(logged).not.toContain("u@example.com");
});
