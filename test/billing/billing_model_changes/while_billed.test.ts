import { beforeAll, expect, test } from "bun:test";
import { chunks } from "../../../src/core/chunk.ts";
import { sum } from "../../../src/core/money.ts";
import type { Json } from "../../support/harness.ts";
import { type Company, PER_UNIT, useBilling } from "../fixtures.ts";
import { changeTo } from "./fixtures.ts";

// A change of a closed month is rated before its transaction. What another call writes in between may know more.

let company: Company;
let half: number;
let whole: number;

const NOW = "2024-04-10T12:00:00.000Z";
const MARCH = { started_at: "2024-03-01T00:00:00Z" };

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
  company = await billing.addCompany();
  half = await company.addModel({ ...PER_UNIT, name: "Half" });
  whole = await company.addModel({ ...PER_UNIT, name: "Whole", price: 1 });
});

const totalOf = async (id: number) =>
  sum((await company.records(id)).map(({ totalCharges }: Json) => totalCharges));

/** Does something after the next count of usage and before its answer is used. */
function afterNextCount(work: () => Promise<void>): void {
  const { usage } = billing.service.deps;
  const count = usage.totals.bind(usage);
  // Stands before, not in place of, the store.
  usage.totals = async (...question) => {
    usage.totals = count;
    const counted = await count(...question);
    await work();
    return counted;
  };
}

test("a change that counted fewer events than a record knows counts again", async () => {
  const id = await company.subscribe(half, MARCH);
  await company.use(id, ["2024-03-20T00:00:00Z", "100"]);
  await company.run({ period: "2024-03", subscription_ids: [id] });
  afterNextCount(async () => {
    await company.use(id, ["2024-03-21T00:00:00Z", "10"]);
    await company.run({ period: "2024-03", subscription_ids: [id] });
  });
  const { status, body } = await changeTo(company.api, id, whole, "2024-03-10T00:00:00Z");
  expect(status, JSON.stringify(body)).toBe(200);
  expect(body.data).toMatchObject({ status: "applied", adjustment_billing_record_ids: [expect.any(Number)] });
  expect(await totalOf(id)).toBe("110");
});

test("a change that is due counts again too", async () => {
  const id = await company.subscribe(half, MARCH);
  await company.use(id, ["2024-03-20T00:00:00Z", "100"]);
  await company.run({ period: "2024-03", subscription_ids: [id] });
  const effective_at = "2024-03-10T00:00:00Z";
  billing.clock.set("2024-03-05T00:00:00Z");
  expect((await changeTo(company.api, id, whole, effective_at)).body.data.status).toBe("scheduled");
  billing.clock.set(NOW);
  afterNextCount(async () => {
    await company.use(id, ["2024-03-21T00:00:00Z", "10"]);
    await company.run({ period: "2024-03", subscription_ids: [id] });
  });
  // Asking for another change applies first what is due.
  expect((await changeTo(company.api, id, half, "2024-04-01T00:00:00Z")).status).toBe(200);
  expect(await totalOf(id)).toBe("110");
});

test("a run bills what a change meanwhile brings with it: a fee of a quarter, a commitment to a year", async () => {
  const fee = { recurring_fee: "91", fee_interval: "quarter", fee_timing: "in_advance" };
  const model = await company.addModel({
    ...PER_UNIT,
    ...fee,
    name: "Committed",
    commitment: { minimum: "365", interval: "year" },
  });
  billing.clock.set("2025-03-10T12:00:00Z");
  const id = await company.subscribe(half, { started_at: "2025-03-01T00:00:00Z" });
  expect((await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" })).status).toBe(200);
  billing.clock.set("2025-03-11T00:00:00Z");
  afterNextCount(async () => {
    expect((await changeTo(company.api, id, model, "2025-03-01T00:00:00Z")).status).toBe(200);
  });
  await company.run({ subscription_ids: [id] });
  const [bill] = await company.records(id);
  const { lines } = (await company.api("GET", `/billing-records/${bill.id}`)).body.data;
  // Ten of 92 days, and of 365.
  expect(lines.map(({ kind, amount }: Json) => [kind, amount])).toEqual([
    ["fee", "9.89"],
    ["usage", "0.00"],
    ["commitment_true_up", "10.00"],
  ]);
  billing.clock.set(NOW);
});

test("of many changes under ingest and runs none is without its adjustment", async () => {
  const ids: number[] = [];
  for (let i = 0; i < 30; i++) ids.push(await company.subscribe(half, MARCH));
  for (const id of ids) await company.use(id, ["2024-03-20T00:00:00Z", "100"]);
  await company.run({ period: "2024-03", subscription_ids: ids });
  const unadjusted: number[] = [];
  const change = async (id: number): Promise<void> => {
    await Bun.sleep(Math.random() * 100);
    const { status, body } = await changeTo(company.api, id, whole, "2024-03-10T00:00:00Z");
    expect(status, JSON.stringify(body)).toBe(200);
    if (body.data.adjustment_billing_record_ids.length === 0) unadjusted.push(id);
  };
  const learn = async (id: number): Promise<void> => {
    for (let i = 0; i < 3; i++) {
      await company.use(id, ["2024-03-21T00:00:00Z", "10"]);
      await company.run({ period: "2024-03", subscription_ids: [id] });
    }
  };
  const { usage } = billing.service.deps;
  const count = usage.totals.bind(usage);
  // Answers of the store arrive in another order than they were found.
  usage.totals = async (...question) => {
    const counted = await count(...question);
    await Bun.sleep(Math.random() < 0.5 ? 0 : 40);
    return counted;
  };
  try {
    for (const some of chunks(ids, 5)) {
      await Promise.all(some.flatMap((id) => [learn(id), change(id)]));
    }
  } finally {
    usage.totals = count;
  }
  expect(unadjusted).toEqual([]);
  for (const id of ids) expect(await totalOf(id)).toBe("130");
});
