import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { CREDIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

const PLAN = {
  ...CREDIT,
  credit_plan: { monthly_credits: 3, credit_consumption: "per_api_call", overage_rate: "1" },
};

test("a negative correction of a call gives its credit back", async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PLAN, { started_at: "2024-03-01T00:00:00Z" });
  const balance = async () => (await company.api("GET", `/subscriptions/${id}/credits`)).body.data;
  const call = (usage: string): [string, string] => ["2024-03-10T00:00:00Z", usage];
  await company.use(id, call("1"), call("1"), call("1"), call("0"), call("2.5"));
  expect(await balance()).toMatchObject({ used: 3, overageUsed: 2 });
  await company.use(id, call("-1"));
  expect(await balance()).toMatchObject({ used: 3, overageUsed: 1 });
  await company.use(id, call("-1"), call("-2.5"));
  expect(await balance()).toMatchObject({ used: 2, remaining: 1, overageUsed: 0 });
  await company.use(id, call("1"), call("1"));

  billing.clock.set("2024-04-01T01:00:00Z");
  await company.run();
  await company.use(id, call("-1"));
  await company.run({ period: "2024-03" });
  const records = await company.records(id);
  expect(records.map(({ totalCharges }: Json) => totalCharges)).toEqual(["51.00", "-1.00"]);
  for (const record of records) {
    expect((await company.api("GET", `/billing-records/${record.id}/verify`)).body.data).toMatchObject({
      matches: true,
    });
  }
});

test("of a plan that counts by a meter, a correction gives a credit back where the meter counts it", async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  const company = await billing.addCompany();
  const { body } = await company.api("POST", "/meters", {
    code: "chats",
    name: "Chats",
    aggregation: "count",
    filters: [{ key: "kind", op: "in", values: ["chat"] }],
  });
  const id = await company.subscribe(
    { ...PLAN, meter_id: body.data.id },
    { started_at: "2024-03-01T00:00:00Z" },
  );
  const of = (kind: string, usage: string): [string, string, Json] => [
    "2024-03-10T00:00:00Z",
    usage,
    { kind },
  ];
  const chat = of("chat", "1");
  await company.use(id, chat, chat, chat, chat, chat, of("image", "1"), of("image", "-1"));
  const balance = async () => (await company.api("GET", `/subscriptions/${id}/credits`)).body.data;
  expect(await balance()).toMatchObject({ used: 3, overageUsed: 2 });
  billing.clock.set("2024-04-01T01:00:00Z");
  await company.run();
  await company.use(id, of("chat", "-1"));
  await company.run({ period: "2024-03" });
  const records = await company.records(id);
  expect(records.map(({ totalCharges }: Json) => totalCharges)).toEqual(["52.00", "-1.00"]);
  for (const record of records) {
    expect((await company.api("GET", `/billing-records/${record.id}/verify`)).body.data).toMatchObject({
      matches: true,
    });
  }
});

test("corrections beyond what they correct give no credits", async () => {
  billing.clock.set("2024-03-20T12:00:00Z");
  const company = await billing.addCompany();
  const id = await company.subscribe(PLAN, { started_at: "2024-03-01T00:00:00Z" });
  await company.use(id, ["2024-03-10T00:00:00Z", "-1"], ["2024-03-10T00:00:00Z", "-1"]);
  const { body } = await company.api("GET", `/subscriptions/${id}/credits`);
  expect(body.data).toMatchObject({ allocated: 3, used: 0, remaining: 3, overageUsed: 0 });
});
