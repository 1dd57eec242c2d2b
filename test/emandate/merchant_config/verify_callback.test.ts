import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { AppError } from "../../../src/core/errors.ts";
import { readFpxCallback } from "../../../src/emandate/merchant_config/verify_callback.ts";
import { type Service, startService, type Tenant } from "../../support/harness.ts";
import { makeIdentity } from "../../support/certificates.ts";
import { openStandIn, type StandIn } from "../scheme/fake_fpx.ts";

const NOW = Temporal.Now.instant().add({ minutes: 1 });
let scheme: StandIn;
let service: Service;

beforeAll(async () => {
  scheme = openStandIn();
  service = await startService({
    env: { SECRETS_KEY: randomBytes(32).toString("hex"), FPX_URL: scheme.url },
  });
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
});

const exchange_id = "EX00000001";
const sellerOf = ({ company_id }: Tenant) => `SE${company_id}`;
async function addMerchant(scheme_certificate_pem: string): Promise<Tenant> {
  const tenant = await service.addTenant();
  const ids = { exchange_id, seller_id: sellerOf(tenant) };
  const { status } = await tenant.api("PUT", "/emandate/config", { ...ids, scheme_certificate_pem });
  expect(status).toBe(200);
  return tenant;
}

/** A confirmation of an order, as the scheme would send it. */
const confirmation = (sellerId: string, other = {}) =>
  new URLSearchParams(
    scheme.confirmation({
      fpx_sellerExId: exchange_id,
      fpx_sellerId: sellerId,
      fpx_sellerExOrderNo: "EN1",
      fpx_txnAmount: "1.00",
      fpx_txnCurrency: "MYR",
      ...other,
    }),
  ).toString();

const read = (body: string, now = NOW) => readFpxCallback(service.deps.store.read, body, now);

/** What a refusal says. */
async function refusal(body: string, now = NOW): Promise<string> {
  const refused: unknown = await read(body, now).catch((error: unknown) => error);
  if (!(refused instanceof AppError) || refused.kind !== "malformed") throw new Error(`Not refused: ${body}`);
  return refused.message;
}

describe("callbacks", () => {
  test("are for the company whose seller and certificate they fit", async () => {
    const [one, other] = [
      await addMerchant(scheme.scheme.certificate_pem),
      await addMerchant(scheme.scheme.certificate_pem),
    ];
    expect(await read(confirmation(sellerOf(one)))).toMatchObject({
      company_id: one.company_id,
      order_no: "EN1",
      result: { status: "ok" },
    });
    expect((await read(confirmation(sellerOf(other)))).company_id).toBe(other.company_id);
    // Believes a scheme of its own.
    const liar = await addMerchant(makeIdentity().certificate_pem);
    expect(await refusal(confirmation(sellerOf(liar)))).toContain("checksum");
  });

  test("are refused in the same words whether nobody knows the seller or the checksum is wrong", async () => {
    const seller = sellerOf(await addMerchant(scheme.scheme.certificate_pem));
    const unknown = await refusal(confirmation("SE0"));
    const forged = await refusal(confirmation(seller).replace("debitAuthCode=00", "debitAuthCode=51"));
    expect(unknown).toBe(forged);
    expect(unknown).toBe("Cannot take the callback: the checksum is not the scheme's");
  });

  test("are refused outside of the certificate's days", async () => {
    const seller = sellerOf(await addMerchant(scheme.scheme.certificate_pem));
    expect(await refusal(confirmation(seller), NOW.add({ hours: 24 * 60 }))).toContain("checksum");
  });

  test.each([
    ["nothing", ""],
    ["a field twice", "fpx_sellerId=A&fpx_sellerId=B"],
    ["too much", `fpx_sellerId=${"x".repeat(100_000)}`],
    ["too many fields", Array.from({ length: 200 }, (_, i) => `fpx_${i}=1`).join("&")],
    ["bytes that are no text", "fpx_sellerId=%ff%fe&fpx_checkSum=%00"],
    ["JSON", '{"fpx_sellerId": "SE00000001"}'],
  ])("are refused when they hold %s", async (_, body) => {
    expect(await refusal(body)).toStartWith("Cannot take the callback");
  });
});
