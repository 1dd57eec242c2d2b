import { expect, test } from "bun:test";
import { join } from "node:path";
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

test("secrets reach no line under their names, alone or one level down", () => {
  const told =
    '{ private_key_pem: "S1", config: { secrets_keys: "S2", private_key_pem: "S3" }, seller_id: "SE1" }';
  const code = `import { openLog } from "./src/core/log.ts"; openLog("info").info(${told}, "configured");`;
  const { stdout } = Bun.spawnSync(["bun", "-e", code], { cwd: join(import.meta.dir, "../..") });
  const line = stdout.toString();
  expect(line).toContain("configured");
  expect(line).toContain("SE1");
  expect(line).not.toMatch(/S[123]/);
});

test("settings that are secret are left out of a line", async () => {
  const settings = {
    LOAN_SERVICE_KEY: "a-service-key",
    JWT_SECRET: "a-signing-secret-of-thirty-two-bytes",
    METRICS_TOKEN: "a-token-of-thirty-two-characters-",
  };
  const code = `
    import { readConfig } from "./src/core/config.ts";
    import { openLog } from "./src/core/log.ts";
    const config = readConfig(${JSON.stringify(settings)});
    openLog("info").info({ config, ...config }, "started on port " + config.port);
  `;
  const { stdout } = Bun.spawnSync(["bun", "-e", code], { cwd: `${import.meta.dir}/../..` });
  const line = stdout.toString();
  expect(line).toContain("started on port 3000");
  for (const secret of Object.values(settings)) expect(line).not.toContain(secret);
});
