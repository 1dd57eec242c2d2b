import { expect, test } from "bun:test";
import { readConfig } from "../../src/core/config.ts";

test.each([
  ["LOAN_SERVICE_KEY", "two words", "must be letters, digits and punctuation of ASCII, without spaces"],
  ["LOAN_SERVICE_KEY", "clé", "must be letters, digits and punctuation of ASCII, without spaces"],
  ["ADMIN_PASSWORD", "            ", "must not be blank"],
  ["ADMIN_PASSWORD", "admin@example.com", "must not be the email"],
  ["JWT_SECRET", "x".repeat(31), "must have at least 32 bytes, and has 31"],
  [
    "FPX_PRIVATE_KEY_SELLERS",
    "EX1/SE1",
    "must name a company, an exchange and a seller such as 1:EX00000001",
  ],
  ["FPX_PRIVATE_KEY_SELLERS", "1:EX1/SE1,2:EX1/SE1", "no seller twice"],
])("%s %p is refused with what is taken", (name, value, why) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name} ${why.startsWith("no") ? "" : why}`);
  expect(() => readConfig({ [name]: value })).toThrow(why);
});

test("an instance among several is refused without what all have in common", () => {
  const settings = { INSTANCE_URL: "http://10.0.0.5:3001", DATABASE_URL: "postgres://db/meterhouse" };
  expect(() => readConfig({ INSTANCE_URL: settings.INSTANCE_URL })).toThrow(
    "INSTANCE_URL needs DATABASE_URL, the same for every instance; INSTANCE_URL needs JWT_SECRET",
  );
  expect(() => readConfig({ ...settings, JWT_SECRET: "x".repeat(32), INSTANCE_URL: "10.0.0.5" })).toThrow(
    "INSTANCE_URL must be an http or https origin",
  );
  const { instance_url } = readConfig({ ...settings, JWT_SECRET: "x".repeat(32) });
  expect(instance_url).toBe("http://10.0.0.5:3001");
});

test("the key file of FPX and those who sign with it are set together", () => {
  const [FPX_PRIVATE_KEY_FILE, FPX_PRIVATE_KEY_SELLERS] = ["seller.pem", "1:EX1/SE1"];
  expect(() => readConfig({ FPX_PRIVATE_KEY_FILE })).toThrow("FPX_PRIVATE_KEY_SELLERS must name who signs");
  expect(() => readConfig({ FPX_PRIVATE_KEY_SELLERS })).toThrow("needs FPX_PRIVATE_KEY_FILE");
  expect(readConfig({ FPX_PRIVATE_KEY_FILE, FPX_PRIVATE_KEY_SELLERS }).fpx_private_key_sellers).toEqual([
    { company_id: 1, exchange_id: "EX1", seller_id: "SE1" },
  ]);
});
