import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "../../../src/core/errors.ts";
import { openSecrets } from "../../../src/core/secret_box.ts";
import { keyPlace, openConnector } from "../../../src/emandate/merchant_config/open_connector.ts";
import { findConfig } from "../../../src/emandate/merchant_config/queries.ts";
import { emandateConfigTable } from "../../../src/emandate/merchant_config/tables.ts";
import { makeKey } from "../../support/certificates.ts";
import { type Service, startService, type Tenant } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { order } from "../scheme/fixtures.ts";
import { openStandIn, type StandIn } from "../scheme/fake_fpx.ts";

const NOW = Temporal.Now.instant().add({ minutes: 1 });
const [old_key, new_key] = [randomBytes(32), randomBytes(32)];
let scheme: StandIn;
let service: Service;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "meterhouse-key-"));
  scheme = openStandIn();
  const SECRETS_KEY = [new_key, old_key].map((key) => key.toString("hex")).join(",");
  service = await startService({ env: { SECRETS_KEY, FPX_URL: scheme.url } });
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function addMerchant(other: object = {}): Promise<Tenant> {
  const tenant = await service.addTenant();
  const { exchange_id } = scheme.account;
  const seller_id = `SE${tenant.company_id}`;
  const scheme_certificate_pem = scheme.scheme.certificate_pem;
  const { status } = await tenant.api("PUT", "/emandate/config", {
    exchange_id,
    seller_id,
    scheme_certificate_pem,
    ...other,
  });
  expect(status).toBe(200);
  return tenant;
}

const stored = (tenant: Tenant) =>
  findConfig({ q: service.deps.store.read, scope: tenant, now: Temporal.Now.instant() });
const config = (fpx_private_key_file: string | null = null, ...named: Tenant[]) => ({
  ...service.deps.config,
  fpx_private_key_file,
  fpx_private_key_sellers: named.map(({ company_id }) => ({
    company_id,
    exchange_id: scheme.account.exchange_id,
    seller_id: `SE${company_id}`,
  })),
});
const secrets = openSecrets([new_key, old_key]);

describe("a connector", () => {
  test("speaks with the company's own key", async () => {
    const tenant = await addMerchant({ private_key_pem: scheme.seller_key_pem, connector: "fpx" });
    const connector = await openConnector({ config: config(), secrets }, await stored(tenant));
    expect(connector.name).toBe("fpx");
    const results = await connector.queryStatus([order()], NOW);
    expect(results.get(order().order_no)).toMatchObject({ status: "ok", code: "00" });
  });

  test("speaks with the deployment's key for the company and seller that it names, and for no other", async () => {
    const key_file = join(folder, "seller.pem");
    writeFileSync(key_file, scheme.seller_key_pem);
    const [tenant, other] = [await addMerchant(), await addMerchant()];
    const named = { config: config(key_file, tenant), secrets };
    const connector = await openConnector(named, await stored(tenant), "fpx");
    const results = await connector.queryStatus([order()], NOW);
    expect(results.get(order().order_no)).toMatchObject({ status: "ok" });

    const { seller_id } = await stored(tenant);
    const borrowed = [
      await stored(other),
      { ...(await stored(other)), seller_id },
      { ...(await stored(tenant)), seller_id: "SE99" },
      { ...(await stored(tenant)), exchange_id: "EX99" },
    ];
    for (const theirs of borrowed) {
      expect(await refusal(openConnector(named, theirs, "fpx"))).toContain("private_key_pem missing");
    }
  });

  test("is the one that a mandate began with, whatever the company has chosen since", async () => {
    const tenant = await addMerchant({ private_key_pem: scheme.seller_key_pem, connector: "fpx" });
    expect((await openConnector({ config: config(), secrets }, await stored(tenant), "sandbox")).name).toBe(
      "sandbox",
    );
  });

  test("sends nothing while it is not configured, and says what is missing", async () => {
    const tenant = await service.addTenant();
    scheme.requests.length = 0;
    const bare = { ...config(), fpx_url: null };
    expect(await refusal(openConnector({ config: bare, secrets }, await stored(tenant), "fpx"))).toBe(
      "Cannot work with FPX: not configured: exchange_id, seller_id, private_key_pem, scheme_certificate_pem, FPX_URL (a setting of the deployment) missing",
    );
    expect(scheme.requests).toEqual([]);
  });

  test.each([
    ["is not there", null, "can't be read"],
    ["is no key", "hello", "must be one private key"],
    ["is too weak", makeKey("rsa 1024"), "must have an RSA key"],
  ])("says what is wrong with a key file that %s", async (name, content, why) => {
    const key_file = join(folder, name);
    if (content !== null) writeFileSync(key_file, content);
    const tenant = await addMerchant();
    const opened = openConnector({ config: config(key_file, tenant), secrets }, await stored(tenant), "fpx");
    expect(await refusal(opened)).toContain(`FPX_PRIVATE_KEY_FILE ${why}`);
  });

  test("can't open a key that was moved from another company, or that no key of the deployment seals", async () => {
    const [one, other] = [await addMerchant({ private_key_pem: scheme.seller_key_pem }), await addMerchant()];
    const moved = { ...(await stored(other)), private_key_sealed: (await stored(one)).private_key_sealed };
    expect(await refusal(openConnector({ config: config(), secrets }, moved, "fpx"))).toContain(
      "changed or moved",
    );
    const lost = openSecrets([randomBytes(32)]);
    const opened = openConnector({ config: config(), secrets: lost }, await stored(one), "fpx");
    expect(await refusal(opened)).toContain("SECRETS_KEY no longer holds the key");
  });
});

/** What a conflict says. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const refused = await work.catch((error: unknown) => error);
  if (refused instanceof AppError && refused.kind === "conflict") return refused.message;
  throw new Error("It was not refused");
}

test("a key that an older key sealed is sealed by the newest, and stays the same", async () => {
  const tenant = await addMerchant({ private_key_pem: scheme.seller_key_pem });
  const place = keyPlace(tenant.company_id);
  const pem = secrets.open((await stored(tenant)).private_key_sealed ?? "", place);
  const emandate_configs = service.deps.store.read.use(emandateConfigTable);
  const before = openSecrets([old_key]).seal(pem, place);
  await service.deps.store.tx(async (q) => {
    await q
      .update(emandate_configs)
      .set({ private_key_sealed: before })
      .where(eq(emandate_configs.company_id, tenant.company_id));
  });
  await runNamedJob(service, "emandate_reseal");
  const after = await stored(tenant);
  expect(openSecrets([new_key]).open(after.private_key_sealed ?? "", place)).toBe(pem);
  await runNamedJob(service, "emandate_reseal");
  expect(await stored(tenant)).toEqual(after);
});
