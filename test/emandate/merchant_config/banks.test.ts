import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { LIMITS } from "../../../src/emandate/limits.ts";
import { type Api, type Service, type Json, startService, TestClock } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { openStandIn, type StandIn } from "../scheme/fake_fpx.ts";

let scheme: StandIn;
let service: Service;
const start = Temporal.Now.instant().add({ minutes: 1 }).round("second");
const clock = new TestClock(start.toString());
const minutes = (count: number) => clock.set(start.add({ minutes: count }).toString());

beforeAll(async () => {
  scheme = openStandIn();
  service = await startService({
    clock,
    env: { SECRETS_KEY: randomBytes(32).toString("hex"), FPX_URL: scheme.url },
  });
});
afterEach(() => {
  scheme.answerBanks(null);
  scheme.requests.length = 0;
  clock.set(start.toString());
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
});

const refresh = () => runNamedJob(service, "emandate_banks");
const list = async (api: Api, query = ""): Promise<Json[]> => {
  const { status, body } = await api("GET", `/emandate/banks${query}`);
  expect(status).toBe(200);
  return body.data;
};
/** A company that works with the stand-in. */
async function addMerchant(): Promise<Api> {
  const { api, company_id } = await service.addTenant();
  const { exchange_id } = scheme.account;
  const seller_id = `SE${company_id}`;
  const { seller_key_pem: private_key_pem } = scheme;
  const keys = { private_key_pem, scheme_certificate_pem: scheme.scheme.certificate_pem };
  const { status } = await api("PUT", "/emandate/config", {
    connector: "fpx",
    exchange_id,
    seller_id,
    ...keys,
  });
  expect(status).toBe(200);
  return api;
}
const statesOf = (banks: Json[]) =>
  new Map(banks.map(({ bank_code, type, status }) => [`${bank_code} ${type}`, status]));

describe("the sandbox's banks", () => {
  test("are all online, test banks among them", async () => {
    const banks = await list(service.api);
    expect(banks).toContainEqual({
      bank_code: "MB2U0227",
      bank_name: "Malayan Banking Berhad (M2U)",
      display_name: "Maybank2U",
      type: "B2C",
      status: "online",
      checked_at: expect.any(String),
    });
    expect(banks.every(({ status }) => status === "online")).toBe(true);
    expect(banks.filter(({ bank_code }) => bank_code === "TEST0021").map(({ type }) => type)).toEqual([
      "B2C",
      "B2B1",
    ]);
  });

  test("are filtered by type; what is no type is refused", async () => {
    const [personal, corporate] = [
      await list(service.api, "?type=B2C"),
      await list(service.api, "?type=B2B1"),
    ];
    expect(new Set(personal.map(({ type }) => type))).toEqual(new Set(["B2C"]));
    expect(new Set(corporate.map(({ type }) => type))).toEqual(new Set(["B2B1"]));
    expect(personal.length + corporate.length).toBe((await list(service.api)).length);
    for (const query of ["?type=b2c", "?type=", "?status=online"]) {
      expect((await service.api("GET", `/emandate/banks${query}`)).status).toBe(422);
    }
  });
});

describe("FPX's banks", () => {
  test("are those that are known until the scheme was asked, then as it says", async () => {
    const api = await addMerchant();
    const before = await list(api);
    expect(before.every(({ status, checked_at }) => status === "online" && checked_at === null)).toBe(true);
    expect(before.some(({ bank_code }) => bank_code.startsWith("TEST"))).toBe(false);
    expect(scheme.requests).toEqual([]);

    await refresh();
    const after = await list(api);
    expect(statesOf(after).get("MB2U0227 B2C")).toBe("online");
    expect(statesOf(after).get("BIMB0340 B2C")).toBe("offline");
    expect(
      after.every(({ checked_at }) => checked_at === start.toString({ smallestUnit: "millisecond" })),
    ).toBe(true);
    // Another company's list is its own.
    expect((await list(await addMerchant()))[0].checked_at).toBeNull();
  });

  test("are asked for at most every so many minutes, also when the scheme fails", async () => {
    const api = await addMerchant();
    const asked = async () => {
      scheme.requests.length = 0;
      await refresh();
      return scheme.requests.length;
    };
    minutes(1_000);
    expect(await asked()).toBeGreaterThanOrEqual(2);
    const known = await list(api);
    for (const count of [1_000, 1_001, 1_000 + LIMITS.bank_refresh_minutes - 1]) {
      minutes(count);
      expect(await asked()).toBe(0);
    }
    scheme.answerBanks(() => new Response("ERROR"));
    minutes(1_000 + LIMITS.bank_refresh_minutes);
    expect(await asked()).toBeGreaterThanOrEqual(2);
    expect(await list(api)).toEqual(known);
    minutes(1_001 + LIMITS.bank_refresh_minutes);
    expect(await asked()).toBe(0);
    // A clock that was put back does not stop the asking.
    minutes(500);
    expect(await asked()).toBeGreaterThanOrEqual(2);
  });

  test("are asked for while another company's scheme is silent", async () => {
    for (let i = 0; i < 2; i++) await addMerchant();
    minutes(2_000);
    const silence = Promise.withResolvers<void>();
    let calls = 0;
    scheme.answerBanks(async () => {
      calls += 1;
      // Each company asks for two lists.
      if (calls <= 2) await silence.promise;
      return new Response("ERROR");
    });
    const refreshed = refresh();
    try {
      for (let i = 0; i < 300; i++) {
        if (calls >= 4) break;
        await Bun.sleep(10);
      }
      expect(calls).toBeGreaterThanOrEqual(4);
    } finally {
      silence.resolve();
      await refreshed;
    }
  });

  test("are not asked for while a company keeps to the sandbox", async () => {
    const api = await addMerchant();
    await api("PUT", "/emandate/config", { connector: "sandbox" });
    minutes(1_200);
    await refresh();
    expect((await list(api)).some(({ bank_code }) => bank_code === "TEST0021")).toBe(true);
  });
});
