import { describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import * as fc from "fast-check";
import { sum } from "../../../src/core/money.ts";
import {
  type Bounds,
  type Period,
  periodsBetween,
  recordedPeriod,
  type ZoneTimeline,
} from "../../../src/core/periods.ts";
import { instant, iso } from "../../../src/core/time.ts";
import { insertRecords } from "../../../src/billing/records/queries.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { companyTimezoneTable } from "../../../src/tenancy/companies/tables.ts";
import type { Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { propertyCases } from "../../support/properties.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, CREDIT, FLAT, PER_UNIT, useBilling } from "../fixtures.ts";

// On 1 March 2024 Kazakhstan moved Almaty from +06 to +05. Who bills with the zone's old rules and learns the new
// ones later has records whose bounds the calendar names no more. Omsk has kept +06: it stands for the old rules.

const OLD_RULES = "Asia/Omsk";
const NEW_RULES = "Asia/Almaty";

const billing = useBilling();

async function addCompany(): Promise<Company> {
  billing.clock.set("2024-04-12T00:00:00Z");
  return billing.addCompany({ timezone: OLD_RULES });
}

/** The zone's rules turn out to be others, as after an upgrade. */
async function learnNewRules({ company_id }: Company): Promise<void> {
  await billing.service.deps.store.tx(async (q) => {
    const t = q.use(companyTimezoneTable);
    await q.update(t).set({ timezone: NEW_RULES }).where(eq(t.company_id, company_id));
  });
}

/** An event in each hour of some days around every month's turn, and their units. */
function eventsAround(anchor_day: number): [at: string, units: string][] {
  return [1, 2, 3, 4, 5].flatMap((month) => {
    const day = Temporal.PlainDate.from({ year: 2024, month, day: anchor_day }, { overflow: "constrain" });
    const midnight = day.toZonedDateTime(OLD_RULES).toInstant();
    return [-3, -2, -1, 0, 1, 2, 3].map((hours): [string, string] => [
      midnight.add({ hours }).toString(),
      "1",
    ]);
  });
}

async function expectChain(company: Company, id: number, months: number): Promise<void> {
  const bills = (await company.records(id)).filter(({ kind }: Json) => kind === "period");
  const sorted = bills.toSorted((a: Json, b: Json) => (a.billingStartAt < b.billingStartAt ? -1 : 1));
  expect(sorted).toHaveLength(months);
  expect(sorted.slice(1).map((bill: Json) => bill.billingStartAt)).toEqual(
    sorted.slice(0, -1).map((bill: Json) => bill.billingEndAt),
  );
}

describe("after a zone's rules have changed", () => {
  test.each([1, 15, 29, 31])("closed months stay as they were billed, anchor day %d", async (anchor_day) => {
    const company = await addCompany();
    const started_at = Temporal.PlainDate.from({ year: 2023, month: 12, day: anchor_day })
      .toZonedDateTime(OLD_RULES)
      .toInstant();
    const fields = { started_at: iso(started_at), billing_anchor_day: anchor_day };
    const id = await company.subscribe(PER_UNIT, fields);
    const flat = await company.subscribe(FLAT, fields);
    await company.use(id, ...eventsAround(anchor_day));
    await company.run();
    const before = await company.records(id);
    expect(before.length).toBeGreaterThanOrEqual(3);

    await learnNewRules(company);
    expect((await company.run()).counts).toMatchObject({ periods: 0, adjustments: 0, failed: 0 });
    for (const period of ["2024-01", "2024-02", "2024-03"]) await company.run({ period });
    await runNamedJob(billing.service, "billing_recheck");
    expect(await company.records(id)).toEqual(before);

    billing.clock.set("2024-07-02T00:00:00Z");
    await company.run();
    const months = anchor_day === 1 ? 7 : 6;
    await expectChain(company, id, months);
    await expectChain(company, flat, months);
    const charged = sum((await company.records(id)).map(({ totalCharges }: Json) => totalCharges));
    expect(charged).toBe("17.5"); // 35 events, each once, at 0.50
    const fees = (await company.records(flat)).map(({ totalCharges }: Json) => totalCharges);
    expect(fees).toEqual(Array(months).fill("31.00"));
  });

  test("late usage and changes of plan adjust the month that was billed", async () => {
    const company = await addCompany();
    const [half, whole] = [
      await company.addModel(PER_UNIT),
      await company.addModel({ ...PER_UNIT, price: 1 }),
    ];
    const id = await company.subscribe(half, { started_at: "2024-01-31T18:00:00Z" });
    await company.run();
    await learnNewRules(company);
    billing.clock.set("2024-04-13T00:00:00Z");
    // The last hour of February by the old rules, and what is its hour after midnight by the new ones.
    await company.use(id, ["2024-02-29T17:30:00Z", "3"], ["2024-02-29T18:30:00Z", "5"]);
    await company.run({ period: "2024-02" });
    await company.run({ period: "2024-03" });
    const { body } = await changeTo(company.api, id, whole, "2024-02-10T00:00:00Z");
    expect(body.data.adjustment_billing_record_ids).toHaveLength(2);
    await company.run();
    const records = await company.records(id);
    const bounds = new Set(records.map((one: Json) => `${one.billingStartAt} ${one.billingEndAt}`));
    expect([...bounds]).toEqual([
      "2024-01-31T18:00:00.000Z 2024-02-29T18:00:00.000Z",
      "2024-02-29T18:00:00.000Z 2024-03-31T18:00:00.000Z",
    ]);
    expect(sum(records.map(({ totalCharges }: Json) => totalCharges))).toBe("8");
    expect((await company.api("GET", `/subscriptions/${id}/preview`)).body.data).toMatchObject({
      from: "2024-03-31T18:00:00.000Z",
      to: "2024-04-30T19:00:00.000Z",
    });
    const invoice = await company.api("GET", `/billing-records/${records[0].id}/invoice`);
    expect(invoice.body).toContain("29 February 2024");
  });

  test("credits are those of the month that goes on from the last bill", async () => {
    const company = await addCompany();
    const id = await company.subscribe(CREDIT, { started_at: "2024-02-29T18:00:00Z" });
    await company.run();
    await learnNewRules(company);
    await company.use(id, ["2024-03-31T17:59:59Z", "7"], ["2024-03-31T18:30:00Z", "5"]);
    expect((await company.api("GET", `/subscriptions/${id}/credits`)).body.data).toMatchObject({ used: 5 });
  });

  test("a month that was billed before those around it keeps them apart", async () => {
    const company = await addCompany();
    const id = await company.subscribe(PER_UNIT, { started_at: "2023-12-31T18:00:00Z" });
    await company.use(id, ...eventsAround(1));
    await company.run({ period: "2024-03", subscription_ids: [id] });
    await learnNewRules(company);
    await company.run();
    await expectChain(company, id, 3);
    billing.clock.set("2024-07-02T00:00:00Z");
    await company.run();
    await expectChain(company, id, 6);
    const charged = sum((await company.records(id)).map(({ totalCharges }: Json) => totalCharges));
    expect(charged).toBe("16"); // 32 events from January on
  });

  test("so do those of a company that has moved to another zone since", async () => {
    const company = await addCompany();
    const id = await company.subscribe(PER_UNIT, { started_at: "2023-12-31T18:00:00Z" });
    await company.use(id, ...eventsAround(1));
    await company.run();
    const zone = { name: "Moved", timezone: "Europe/Berlin", currency: "EUR" };
    expect((await company.api("PUT", "/company", zone)).status).toBe(200);
    await billing.service.deps.store.tx(async (q) => {
      const t = q.use(companyTimezoneTable);
      await q.update(t).set({ timezone: NEW_RULES }).where(eq(t.timezone, OLD_RULES));
    });
    billing.clock.set("2024-07-02T00:00:00Z");
    await company.run();
    await expectChain(company, id, 6);
    const records = await company.records(id);
    expect(records.at(-1).billingEndAt).toBe("2024-06-30T22:00:00.000Z");
    expect(sum(records.map(({ totalCharges }: Json) => totalCharges))).toBe("16");
  });
});

describe("the database", () => {
  test.each([
    ["that begins in a billed month", "2024-03-20T00:00:00.000Z", "2024-04-20T00:00:00.000Z"],
    ["that ends in a billed month", "2024-02-20T00:00:00.000Z", "2024-03-01T00:00:00.001Z"],
    ["inside a billed month", "2024-03-02T00:00:00.000Z", "2024-03-03T00:00:00.000Z"],
    ["around a billed month", "2024-02-01T00:00:00.000Z", "2024-05-01T00:00:00.000Z"],
  ])("refuses a period %s, and takes those beside it", async (_, billingStartAt, billingEndAt) => {
    billing.clock.set("2024-05-12T00:00:00Z");
    const company = await billing.addCompany();
    const id = await company.subscribe(FLAT, { started_at: "2024-03-01T00:00:00Z" });
    await company.run({ period: "2024-03" });
    const { store } = billing.service.deps;
    const records = store.read.use(billingRecordTable);
    const [march] = await store.read.select().from(records).where(eq(records.subscription_id, id));
    if (!march) throw new Error("March has no record");
    const { id: _id, ...fields } = march;
    const at = { scope: { company_id: fields.company_id }, now: billing.clock.now() };
    const insert = (bounds: object) =>
      store.tx((q) => insertRecords({ q, ...at }, [{ ...fields, usage_seq: 0, ...bounds }]));
    const refused = await insert({ billingStartAt, billingEndAt }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: "conflict" });
    // The same period once more is no error: another run was first.
    expect(await insert({})).toEqual([]);
    for (const [from, to] of [
      ["2024-02-01T00:00:00.000Z", "2024-03-01T00:00:00.000Z"],
      ["2024-04-01T00:00:00.000Z", "2024-05-01T00:00:00.000Z"],
    ]) {
      expect(await insert({ billingStartAt: from, billingEndAt: to })).toHaveLength(1);
    }
    expect((await company.run()).counts).toMatchObject({ periods: 0, failed: 0 });
  });
});

describe("periods that go on from what is on record", () => {
  const zone = fc.constantFrom(
    "Asia/Omsk",
    "Asia/Almaty",
    "Europe/Berlin",
    "America/New_York",
    "Pacific/Apia",
    "UTC",
  );
  const story = fc.record({
    anchor_day: fc.integer({ min: 1, max: 31 }),
    before: zone,
    after: zone,
    /** Which of the first months are on record. */
    recorded: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
  });
  const START = instant("2023-12-20T00:00:00Z");
  const END = instant("2024-12-20T00:00:00Z");
  const from = (timezone: string): ZoneTimeline => [{ timezone, from: null }];

  test("neither overlap nor leave a gap, and keep their days", () => {
    fc.assert(
      fc.property(story, ({ anchor_day, before, after, recorded }) => {
        const old: Period[] = [...periodsBetween(START, END, anchor_day, from(before))];
        const bounds: Bounds[] = old
          .filter((_, i) => recorded[i])
          .map(({ from: start, to }) => ({ from: start, to }));
        const periods = [...periodsBetween(START, END, anchor_day, from(after), bounds)];
        for (const [i, period] of periods.entries()) {
          const next = periods[i + 1];
          if (next) expect(next.from.equals(period.to)).toBe(true);
          if (next) expect(next.start_date.equals(period.end_date)).toBe(true);
        }
        for (const one of bounds) {
          const period = recordedPeriod(one, anchor_day, from(after));
          expect([iso(period.from), iso(period.to)]).toEqual([iso(one.from), iso(one.to)]);
          const same = old.find((candidate) => candidate.from.equals(one.from));
          expect(period.start_date.equals(same?.start_date ?? period.end_date)).toBe(true);
        }
      }),
      propertyCases(300),
    );
  });
});
