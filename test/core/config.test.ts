import { expect, test } from "bun:test";
import { readConfig, showSettings } from "../../src/core/config.ts";

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
    "INSTANCE_URL needs DATABASE_URL, the same for every instance; INSTANCE_URL needs USAGE_URL, the same for every instance; INSTANCE_URL needs JWT_SECRET",
  );
  const USAGE_URL = "http://clickhouse:8123/usage";
  const PUBLIC_URL = "https://billing.example.com";
  const shared = { ...settings, ...BUCKET, USAGE_URL, PUBLIC_URL, JWT_SECRET: "x".repeat(32) };
  expect(() => readConfig({ ...shared, DOCUMENTS_URL: "" })).toThrow("INSTANCE_URL needs DOCUMENTS_URL");
  expect(() => readConfig({ ...shared, PUBLIC_URL: "" })).toThrow("INSTANCE_URL needs PUBLIC_URL");
  expect(() => readConfig({ ...shared, INSTANCE_URL: "10.0.0.5" })).toThrow(
    "INSTANCE_URL must be an http or https origin",
  );
  expect(readConfig(shared).instance_url).toBe("http://10.0.0.5:3001");
});

const BUCKET = { DOCUMENTS_URL: "s3://files", AWS_ACCESS_KEY_ID: "k", AWS_SECRET_ACCESS_KEY: "s" };

test.each([
  [
    "s3://files",
    { bucket: "files", prefix: "", region: "us-east-1", endpoint: "https://s3.us-east-1.amazonaws.com" },
  ],
  [
    "s3://files/a/b%20c/?region=eu-x&endpoint=http://minio:9000/",
    { bucket: "files", prefix: "a/b c/", region: "eu-x", endpoint: "http://minio:9000" },
  ],
])("DOCUMENTS_URL %s is a bucket", (url, place) => {
  expect(readConfig({ ...BUCKET, DOCUMENTS_URL: url }).documents_url).toEqual(place);
});

test.each([
  ["/mnt/files", "must be a URL such as s3://bucket/prefix?region=eu-central-1"],
  ["file:///mnt/files", "must be a URL such as s3://bucket"],
  ["s3:///prefix", "must be a URL such as s3://bucket"],
  ["s3://key:secret@files", "must be a URL such as s3://bucket"],
  ["s3://files?acl=public", 'takes region and endpoint after its "?", and not acl'],
  ["s3://files?region=../x", "must name a region such as eu-central-1"],
  ["s3://files?endpoint=minio:9000", "must have an http or https origin as its endpoint"],
  ["s3://files?endpoint=http://minio/files", "must have an http or https origin as its endpoint"],
])("DOCUMENTS_URL %s is refused with what is taken", (url, why) => {
  expect(() => readConfig({ ...BUCKET, DOCUMENTS_URL: url })).toThrow(`DOCUMENTS_URL ${why}`);
});

test("DOCUMENTS_URL needs its keys, and they are shown to nobody", () => {
  expect(() => readConfig({ DOCUMENTS_URL: "s3://files" })).toThrow(
    "DOCUMENTS_URL needs AWS_ACCESS_KEY_ID; DOCUMENTS_URL needs AWS_SECRET_ACCESS_KEY",
  );
  const shown = showSettings({ ...BUCKET, AWS_SECRET_ACCESS_KEY: "very-secret" });
  expect(JSON.stringify(shown)).not.toContain("very-secret");
});

test.each([["https://user:p%40ss@clickhouse.example.com:8443/usage"], ["http://clickhouse:8123/usage_2"]])(
  "USAGE_URL %s is a database of a server",
  (url) => {
    const settings = readConfig({ USAGE_URL: url, DATABASE_URL: "postgres://db/meterhouse" });
    expect([settings.usage_url, settings.usage_lanes]).toEqual([url, 8]);
  },
);

test.each([
  "clickhouse:8123/usage",
  "tcp://clickhouse:9000/usage",
  "http://clickhouse:8123",
  "http://clickhouse:8123/",
  "http://clickhouse:8123/usage/more",
  "http://clickhouse:8123/usage-1",
  "http://clickhouse:8123/1usage",
  "http://clickhouse:8123/usage?async_insert=1",
  "http://one:8123/usage,http://two:8123/usage",
])("USAGE_URL %s is refused with what is taken", (url) => {
  expect(() => readConfig({ USAGE_URL: url, DATABASE_URL: "postgres://db/meterhouse" })).toThrow(
    "USAGE_URL must be the http or https URL of one ClickHouse server and a database of it",
  );
});

test("USAGE_URL needs PostgreSQL, and its password is shown to nobody", () => {
  const USAGE_URL = "http://user:very-secret@clickhouse:8123/usage";
  expect(() => readConfig({ USAGE_URL })).toThrow("USAGE_URL needs DATABASE_URL");
  expect(JSON.stringify(showSettings({ USAGE_URL }))).not.toContain("very-secret");
});

test("the key file of FPX and those who sign with it are set together", () => {
  const [FPX_PRIVATE_KEY_FILE, FPX_PRIVATE_KEY_SELLERS] = ["seller.pem", "1:EX1/SE1"];
  expect(() => readConfig({ FPX_PRIVATE_KEY_FILE })).toThrow("FPX_PRIVATE_KEY_SELLERS must name who signs");
  expect(() => readConfig({ FPX_PRIVATE_KEY_SELLERS })).toThrow("needs FPX_PRIVATE_KEY_FILE");
  expect(readConfig({ FPX_PRIVATE_KEY_FILE, FPX_PRIVATE_KEY_SELLERS }).fpx_private_key_sellers).toEqual([
    { company_id: 1, exchange_id: "EX1", seller_id: "SE1" },
  ]);
});
