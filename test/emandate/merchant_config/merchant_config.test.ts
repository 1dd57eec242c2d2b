import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPrivateKey, randomBytes, X509Certificate } from "node:crypto";
import { LIMITS } from "../../../src/emandate/limits.ts";
import { makeIdentity, makeKey } from "../../support/certificates.ts";
import { type Api, type Service, type Json, startService, type Tenant } from "../../support/harness.ts";

const scheme = makeIdentity();
const private_key_pem = makeKey();
const scheme_certificate_pem = scheme.certificate_pem;
const READY = { exchange_id: "EX00000001", seller_id: "SE00000001", private_key_pem, scheme_certificate_pem };

let service: Service;
beforeAll(async () => {
  const env = { SECRETS_KEY: randomBytes(32).toString("base64"), FPX_URL: "https://scheme.example.test" };
  service = await startService({ env });
});
afterAll(() => service.stop());

const put = (api: Api, body: unknown) => api("PUT", "/emandate/config", body);
const get = async (api: Api): Promise<Json> => (await api("GET", "/emandate/config")).body.data;

const DEFAULTS = {
  scheme: "FPX",
  connector: "sandbox",
  exchange_id: null,
  seller_id: null,
  seller_bank_code: "01",
  currency: "MYR",
  version: "7.0",
  callback_url: null,
  return_url: null,
  has_private_key: false,
  certificate_fingerprint: null,
  certificate_expires_at: null,
  max_retries: 3,
  retry_interval_days: 1,
  first_collection_lead_days: 2,
  suspend_after_failures: 1,
  auto_collect: true,
  holidays: [],
  authorization_amount: "1.00",
};

describe("the merchant configuration", () => {
  test("is there from the beginning, with the defaults", async () => {
    const { api, company_id } = await service.addTenant();
    expect(await get(api)).toEqual({ ...DEFAULTS, company_id, updated_at: expect.any(String) });
  });

  test("is changed in part: what is left out stays, null empties", async () => {
    const { api } = await service.addTenant();
    const urls = {
      callback_url: "https://billing.example.com/api/v1/emandate/callbacks/fpx",
      return_url: "https://shop.example.com/thanks?from=bank",
    };
    const first = await put(api, { ...READY, ...urls });
    expect(first.status).toBe(200);
    const { fingerprint256, validToDate } = new X509Certificate(scheme_certificate_pem);
    expect(first.body.data).toMatchObject({
      ...urls,
      exchange_id: "EX00000001",
      seller_id: "SE00000001",
      has_private_key: true,
      certificate_fingerprint: fingerprint256,
      certificate_expires_at: Temporal.Instant.fromEpochMilliseconds(validToDate.getTime()).toString({
        smallestUnit: "millisecond",
      }),
    });
    const numbers = {
      max_retries: 0,
      retry_interval_days: 7,
      first_collection_lead_days: 10,
      suspend_after_failures: 10,
      auto_collect: false,
    };
    const second = await put(api, { ...numbers, holidays: ["2026-12-25", "2026-08-31", "2026-12-25"] });
    expect(second.body.data).toEqual({
      ...first.body.data,
      ...numbers,
      holidays: ["2026-08-31", "2026-12-25"],
      updated_at: expect.any(String),
    });
    expect(await get(api)).toEqual(second.body.data);
    const emptied = {
      private_key_pem: null,
      scheme_certificate_pem: null,
      return_url: null,
      seller_id: null,
    };
    expect((await put(api, emptied)).body.data).toMatchObject({
      has_private_key: false,
      certificate_fingerprint: null,
      certificate_expires_at: null,
      return_url: null,
      seller_id: null,
      exchange_id: "EX00000001",
    });
    expect((await put(api, {})).status).toBe(200);
  });

  test("turns to FPX only with everything that it needs, and keeps it while it is on", async () => {
    const { api } = await service.addTenant();
    const early = await put(api, { connector: "fpx", seller_id: "SE00000001" });
    expect(early.status).toBe(422);
    expect(early.body.details.map(({ path }: Json) => path)).toEqual([
      "/exchange_id",
      "/private_key_pem",
      "/scheme_certificate_pem",
    ]);
    expect(await get(api)).toMatchObject({ connector: "sandbox", seller_id: null });
    expect((await put(api, { ...READY, connector: "fpx" })).body.data.connector).toBe("fpx");
    for (const field of Object.keys(READY)) {
      const { status, body } = await put(api, { [field]: null });
      expect([status, body.details[0].path]).toEqual([422, `/${field}`]);
    }
    expect(await get(api)).toMatchObject({ connector: "fpx", has_private_key: true });
    expect((await put(api, { connector: "sandbox", private_key_pem: null })).status).toBe(200);
  });

  test("the deployment's key file is a key for the company and seller that it names, and for nobody else", async () => {
    const folder = mkdtempSync(join(tmpdir(), "meterhouse-key-"));
    const FPX_PRIVATE_KEY_FILE = join(folder, "seller.pem");
    writeFileSync(FPX_PRIVATE_KEY_FILE, private_key_pem);
    const env = { FPX_PRIVATE_KEY_FILE, FPX_URL: "https://scheme.example.test" };
    const own = await startService({ env: { ...env, FPX_PRIVATE_KEY_SELLERS: "1:EX1/SE1" } });
    try {
      expect(own.company_id).toBe(1);
      const other = await own.addTenant();
      const turn = { connector: "fpx", exchange_id: "EX1", scheme_certificate_pem };
      for (const [api, seller_id] of [
        [other.api, "SE1"],
        [own.api, "SE2"],
      ] as const) {
        const { status, body } = await put(api, { ...turn, seller_id });
        expect([status, body.details.map(({ path }: Json) => path)]).toEqual([422, ["/private_key_pem"]]);
        expect((await get(api)).has_private_key).toBe(false);
      }
      const named = await put(own.api, { ...turn, seller_id: "SE1" });
      expect([named.status, named.body.data.has_private_key]).toEqual([200, true]);
      // Another seller would be signed for by nobody.
      expect((await put(own.api, { seller_id: "SE2" })).status).toBe(422);
    } finally {
      await own.stop();
      rmSync(folder, { recursive: true });
    }
  });

  test("a seller of the scheme is one company's, until it gives it up", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    const ids = { exchange_id: "EX7", seller_id: "SE7" };
    expect((await put(one.api, ids)).status).toBe(200);
    const refused = await put(other.api, { ...ids, max_retries: 0 });
    expect(refused.status).toBe(409);
    expect(refused.body.error).toBe(
      "Cannot use this exchange_id and seller_id: another company of this deployment has them; ask its operator",
    );
    expect(await get(other.api)).toMatchObject({ seller_id: null, max_retries: 3 });
    expect((await put(other.api, { ...ids, exchange_id: "EX8" })).status).toBe(200);
    expect((await put(one.api, { ...ids, max_retries: 1 })).status).toBe(200);
    expect((await put(one.api, { seller_id: null })).status).toBe(200);
    expect((await put(other.api, ids)).status).toBe(200);
  });

  test("of many companies that take the same seller at once one gets it", async () => {
    const tenants = [];
    for (let i = 0; i < 6; i++) tenants.push(await service.addTenant());
    const ids = { exchange_id: "EX9", seller_id: "SE9" };
    const statuses = (await Promise.all(tenants.map(({ api }) => put(api, ids)))).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409]);
  });

  test("takes keys in PKCS#1 and PKCS#8, with any line ends", async () => {
    const { api } = await service.addTenant();
    const pkcs1 = createPrivateKey(private_key_pem).export({ type: "pkcs1", format: "pem" }).toString();
    const spellings = [private_key_pem, pkcs1, private_key_pem.replaceAll("\n", "\r\n"), `\n${pkcs1}\n\n`];
    for (const pem of spellings) {
      expect((await put(api, { private_key_pem: pem })).body.data.has_private_key).toBe(true);
    }
  });

  const other_key = makeKey();
  const weak = makeKey("rsa 1024");
  const curve = makeKey("ec");
  test.each([
    ["private_key_pem", "not a key", "PEM"],
    ["private_key_pem", "", "PEM"],
    ["private_key_pem", 7, "string"],
    ["private_key_pem", weak, "2048"],
    ["private_key_pem", curve, "RSA"],
    ["private_key_pem", scheme_certificate_pem, "private key"],
    ["private_key_pem", private_key_pem.replace("-----END PRIVATE KEY-----", ""), "PEM"],
    ["private_key_pem", private_key_pem + other_key, "one private key"],
    ["private_key_pem", `${private_key_pem}extra`, "one private key"],
    ["private_key_pem", private_key_pem.replace(/\n.{40}/, "\n"), "can be read"],
    ["private_key_pem", private_key_pem.replaceAll("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"), "passphrase"],
    [
      "private_key_pem",
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----",
      "passphrase",
    ],
    ["private_key_pem", "A".repeat(LIMITS.pem_characters + 1), "characters"],
    ["scheme_certificate_pem", "not a certificate", "certificate"],
    ["scheme_certificate_pem", private_key_pem, "certificate"],
    ["scheme_certificate_pem", scheme_certificate_pem + scheme_certificate_pem, "one certificate"],
    ["scheme_certificate_pem", scheme_certificate_pem.replace(/\n.{40}/, "\n"), "can be read"],
    ["scheme_certificate_pem", makeIdentity({ key: weak }).certificate_pem, "2048"],
    ["scheme_certificate_pem", makeIdentity({ key: curve }).certificate_pem, "RSA"],
    ["callback_url", "http://billing.example.com/cb", "https"],
    ["callback_url", "billing.example.com", "https URL"],
    ["callback_url", "https://user:pass@example.com", "password"],
    ["callback_url", "https://127.0.0.1/cb", "public"],
    ["callback_url", "https://0x7f.1/cb", "public"],
    ["callback_url", "https://localhost/cb", "public"],
    ["return_url", "https://10.0.0.1/", "public"],
    ["return_url", "https://[::ffff:10.0.0.1]/", "public"],
    ["return_url", "javascript:alert(1)", "https"],
    ["return_url", "https://shop.example.com/\nx", "https URL"],
    ["return_url", `https://shop.example.com/${"x".repeat(2_048)}`, "characters"],
    ["seller_id", "SE000000011", "10"],
    ["seller_id", "SE 1", "letters"],
    ["exchange_id", "", "letters"],
    ["exchange_id", "EX|1", "letters"],
    ["connector", "paynet", "sandbox"],
    ["connector", null, "sandbox"],
    ["max_retries", 5, "0 to 4"],
    ["max_retries", -1, "0 to 4"],
    ["max_retries", "3", "whole number"],
    ["max_retries", 1.5, "whole number"],
    ["retry_interval_days", 0, "1 to 7"],
    ["retry_interval_days", 8, "1 to 7"],
    ["first_collection_lead_days", 11, "0 to 10"],
    ["suspend_after_failures", 0, "1 to 10"],
    ["suspend_after_failures", 11, "1 to 10"],
    ["auto_collect", "yes", "boolean"],
    ["holidays", ["2026-02-30"], "day"],
    ["holidays", ["20260831"], "day"],
    ["holidays", Array.from({ length: 401 }, () => "2026-08-31"), "400"],
    ["seller_bank_code", "02", "known field"],
    ["authorization_amount", "2.00", "known field"],
    ["has_private_key", true, "known field"],
    ["certificate_fingerprint", "AA", "known field"],
    ["company_id", 1, "known field"],
  ])("refuses %s, row %#", async (field, value, why) => {
    const { status, body } = await put(service.api, { max_retries: 2, [field]: value });
    expect(status).toBe(422);
    expect(body.details[0].path).toStartWith(`/${field}`);
    expect(body.details[0].message).toContain(why);
    // Nothing of it was done, and nothing of a key is told.
    expect((await get(service.api)).max_retries).toBe(3);
    if (field === "private_key_pem" && typeof value === "string" && value.length > 100) {
      expect(JSON.stringify(body)).not.toContain(value.split("\n")[1] ?? value);
    }
  });

  test("names every problem at once", async () => {
    const { body } = await put(service.api, {
      private_key_pem: "x",
      scheme_certificate_pem: "y",
      return_url: "z",
    });
    expect(body.details.map(({ path }: Json) => path)).toEqual([
      "/private_key_pem",
      "/scheme_certificate_pem",
      "/return_url",
    ]);
  });

  test("is changed by admins only, read by every company user, and not by client users", async () => {
    const tenant: Tenant = await service.addTenant();
    const client_id = (await tenant.api("POST", "/clients", { name: "Acme" })).body.data.id;
    for (const [role, read, write] of [
      ["admin", 200, 200],
      ["manager", 200, 403],
      ["analyst", 200, 403],
      ["client", 403, 403],
    ] as const) {
      const api = await service.addUser(tenant, role, role === "client" ? client_id : undefined);
      expect([role, (await api("GET", "/emandate/config")).status]).toEqual([role, read]);
      expect([role, (await put(api, { max_retries: 1 })).status]).toEqual([role, write]);
      expect([role, (await api("GET", "/emandate/banks")).status]).toEqual([role, read]);
    }
    expect((await service.anonymous("GET", "/emandate/config")).status).toBe(401);
  });

  test("belongs to one company", async () => {
    const [one, other] = [await service.addTenant(), await service.addTenant()];
    await put(one.api, { ...READY, max_retries: 4 });
    expect(await get(other.api)).toMatchObject({ ...DEFAULTS, company_id: other.company_id });
  });

  test("many changes at once end in one of them for each field", async () => {
    const { api } = await service.addTenant();
    const changes = Array.from({ length: 20 }, (_, i) =>
      i % 2 === 0 ? { max_retries: i % 5 } : { retry_interval_days: 1 + (i % 7) },
    );
    const answers = await Promise.all(changes.map((change) => put(api, change)));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    await put(api, { max_retries: 4 });
    await put(api, { seller_id: "SE1" });
    expect(await get(api)).toMatchObject({ max_retries: 4, seller_id: "SE1" });
  });
});

test("a certificate that has expired is refused", async () => {
  const clock = {
    now: () =>
      Temporal.Now.instant()
        .add({ hours: 24 * 31 })
        .round("millisecond"),
  };
  const later = await startService({ clock, env: { SECRETS_KEY: randomBytes(32).toString("hex") } });
  const { status, body } = await put(later.api, { scheme_certificate_pem });
  await later.stop();
  expect([status, body.details[0]]).toEqual([
    422,
    { path: "/scheme_certificate_pem", message: "must not have expired" },
  ]);
});

describe("a deployment without SECRETS_KEY and FPX_URL", () => {
  let bare: Service;
  beforeAll(async () => {
    bare = await startService();
  });
  afterAll(() => bare.stop());

  test("stores no key, and says which setting is missing", async () => {
    const { status, body } = await put(bare.api, { private_key_pem, max_retries: 1 });
    expect(status).toBe(422);
    expect(body.details[0].path).toBe("/private_key_pem");
    expect(body.error).toContain("SECRETS_KEY");
    expect(await get(bare.api)).toMatchObject({ has_private_key: false, max_retries: 3 });
    expect((await put(bare.api, { private_key_pem: null, scheme_certificate_pem })).status).toBe(200);
  });

  test("keeps to the sandbox", async () => {
    const { status, body } = await put(bare.api, { connector: "fpx" });
    expect(status).toBe(422);
    expect(body.error).toContain("FPX_URL");
  });
});
