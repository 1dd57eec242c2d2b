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

test("of many changes under ingest and runs none is without its adjustment", async () => {
  const ids: number[] = [];
  for (let i = 0; i < 60; i++) ids.push(await company.subscribe(half, MARCH));
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
}, 120_000);
