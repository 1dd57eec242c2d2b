import { beforeAll, expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type Company, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();
let company: Company;
let other: number;
let idle: number;

const figures = async (ids: string): Promise<Json[]> => {
  const { status, body } = await company.api("GET", `/client-figures?ids=${ids}`);
  expect(status).toBe(200);
  return body.data;
};

beforeAll(async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  company = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  other = await company.addClient();
  idle = await company.addClient();
  const used = await company.subscribe(PER_UNIT);
  await company.subscribe(FLAT);
  const elsewhere = await company.subscribe(PER_UNIT, { client_id: other });
  // The 9th and 10th of February in Kuala Lumpur, where the day begins at 16:00 UTC.
  await company.use(
    used,
    ["2026-01-05T00:00:00Z", "4"],
    ["2026-02-09T15:59:59Z", "2.5"],
    ["2026-02-09T16:00:00Z", "3"],
  );
  await company.use(elsewhere, ["2026-02-10T01:00:00Z", "8"]);
  billing.clock.set("2026-02-10T02:00:00Z");
  await company.run();
  await runNamedJob(billing.service, "running_bills");
});

test("the figures of clients are what runs, the last bill, and the units of thirty days", async () => {
  const { client_id } = company;
  const [one, two, three] = await figures(`${idle},${client_id},${other}`);
  expect([one, two, three].map((row: Json) => row.client_id)).toEqual([client_id, other, idle]);
  expect(one.active_subscriptions).toBe(2);
  expect(one.running).toEqual([{ currency: "EUR", amount: "33.75", subscriptions: 2 }]);
  expect(one.running_as_of).toBe("2026-02-10T02:00:00.000Z");
  const [newest] = (await company.api("GET", `/billing-records?client_id=${client_id}`)).body.data;
  const { id, kind, currency, totalCharges, billingStartAt, billingEndAt, created_at } = newest;
  expect(one.last_bill).toEqual({
    id,
    kind,
    currency,
    totalCharges,
    billingStartAt,
    billingEndAt,
    created_at,
  });
  expect([one.usage.from, one.usage.to]).toEqual(["2026-01-11T16:00:00.000Z", "2026-02-10T16:00:00.000Z"]);
  const days = (...last: number[]) => [...Array.from({ length: 30 - last.length }, () => 0), ...last];
  expect(one.usage.units).toEqual(days(2.5, 3));
  expect(two).toMatchObject({ active_subscriptions: 1, running: [{ amount: "4.00" }] });
  expect(two.usage.units).toEqual(days(8));
  const nothing = { active_subscriptions: 0, running: [], running_as_of: null, last_bill: null };
  expect(three).toMatchObject({ ...nothing, usage: { units: days() } });
});

test("those of another company are left out, and who may not see amounts sees none", async () => {
  const stranger = await billing.addCompany();
  const { status, body } = await stranger.api("GET", `/client-figures?ids=${company.client_id}`);
  expect([status, body.data]).toEqual([200, []]);
  const user = await company.addUser("client", company.client_id);
  expect((await user("GET", `/client-figures?ids=${company.client_id}`)).status).toBe(403);
  const analyst = await company.addUser("analyst");
  expect((await analyst("GET", `/client-figures?ids=${other}`)).body.data).toHaveLength(1);
});

test.each([
  "",
  "ids=",
  "ids=x",
  "ids=0",
  "ids=1,",
  "ids=1,,2",
  `ids=${Array.from({ length: 51 }, () => 7).join(",")}`,
])("?%s is refused at its field", async (query) => {
  const { status, body } = await company.api("GET", `/client-figures?${query}`);
  expect([status, body.details[0].path]).toEqual([422, "/ids"]);
});
