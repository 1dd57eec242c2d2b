import { beforeAll, describe, expect, test } from "bun:test";
import { eq } from "drizzle-orm";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import type { Json } from "../../support/harness.ts";
import { TESTS_ALL } from "../../support/properties.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PACKAGE, PER_UNIT, useBilling, VOLUME } from "../fixtures.ts";

// verify prices and adds up a record's lines again. Here records are changed behind the service's back.

let company: Company;

const LIMITED = {
  ...PER_UNIT,
  recurring_fee: "9.99",
  free_units: "3",
  minimum_charge: "12.345",
  maximum_charge: "50",
};
const FLAT_ON_ZERO = { ...GRADUATED, charge_flat_on_zero: true };

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set("2024-04-02T00:00:00Z");
  company = await billing.addCompany();
});

const verified = async (id: number): Promise<Json> =>
  (await company.api("GET", `/billing-records/${id}/verify`)).body.data;

interface Stored {
  lines: BillLine[];
  totalCharges: string;
  billedUnits: string;
}

/** Changes a stored record. */
async function change(id: number, how: (record: Stored) => Partial<Stored>): Promise<void> {
  const { store } = billing.service.deps;
  await store.tx(async (q) => {
    const t = q.use(billingRecordTable);
    const [record] = await q.select().from(t).where(eq(t.id, id));
    if (record) await q.update(t).set(how(record)).where(eq(t.id, id));
  });
}

const atLine = (record: Stored, place: number, facts: Partial<BillLine>) => ({
  lines: record.lines.map((line, i) => (i === place ? { ...line, ...facts } : line)),
});

describe("a record whose stored", () => {
  async function bill(): Promise<number> {
    const id = await company.subscribe(
      { ...PER_UNIT, recurring_fee: "5" },
      { started_at: "2024-03-15T00:00:00Z" },
    );
    await company.use(id, ["2024-03-20T00:00:00Z", "10"]);
    const { records } = await company.run({ period: "2024-03", subscription_ids: [id] });
    expect(records[0]).toMatchObject({ totalCharges: "7.74" });
    expect(await verified(records[0].id)).toMatchObject({ matches: true, differences: [] });
    return records[0].id;
  }

  test.each<[string, (record: Stored) => Partial<Stored>, Json[]]>([
    [
      "total was changed",
      () => ({ totalCharges: "7.75" }),
      [{ path: "/totalCharges", expected: "7.74", actual: "7.75" }],
    ],
    [
      "units were changed",
      () => ({ billedUnits: "11" }),
      [{ path: "/billedUnits", expected: "10", actual: "11" }],
    ],
    [
      "amount was changed, and its total with it",
      (record) => ({ ...atLine(record, 1, { amount: "4.00" }), totalCharges: "6.74" }),
      [{ path: "/lines/1/amount", expected: "5.00", actual: "4.00" }],
    ],
    [
      "price was changed, its amount and its total",
      (record) => ({ ...atLine(record, 1, { unit_price: "0.4", amount: "4.00" }), totalCharges: "6.74" }),
      [
        { path: "/lines/1/unit_price", expected: "0.5", actual: "0.4" },
        { path: "/lines/1/amount", expected: "5.00", actual: "4.00" },
      ],
    ],
    [
      "days of the fee were changed",
      (record) => atLine(record, 0, { proration: { numerator: 16, denominator: 31 } }),
      [{ path: "/lines/0/amount", expected: "2.58", actual: "2.74" }],
    ],
    [
      "quantity was changed, its amount, units and total",
      (record) => ({
        ...atLine(record, 1, { quantity: "9", amount: "4.50" }),
        billedUnits: "9",
        totalCharges: "7.24",
      }),
      [{ path: "/lines/1/quantity", expected: "10", actual: "9" }],
    ],
    [
      "line was left out",
      (record) => ({ lines: record.lines.slice(1) }),
      [{ path: "/totalCharges", expected: "5.00", actual: "7.74" }],
    ],
    [
      "lines have one too many",
      (record) => ({
        lines: [...record.lines, { ...(record.lines[1] as BillLine), kind: "maximum_cap" as const }],
      }),
      [
        { path: "/lines/2/amount", expected: "0.00", actual: "5.00" },
        { path: "/totalCharges", expected: "12.74", actual: "7.74" },
      ],
    ],
  ])("%s does not match, and it says where", async (_, how, differences) => {
    const id = await bill();
    await change(id, how);
    const answer = await verified(id);
    expect(answer.differences).toMatchObject(differences);
    expect(answer.differences).toHaveLength(differences.length);
    expect(answer.matches).toBe(false);
  });
});

describe("every record matches, adjustments too,", () => {
  const MODELS = { FLAT, PER_UNIT, LIMITED, GRADUATED, FLAT_ON_ZERO, VOLUME, PACKAGE, CREDIT };
  const USED = [["250.5", "-3"], [], ["7", "-9"], ["1"]];
  /** What is used of a model: each with each under TEST_ALL, else two in turn. */
  const usedOf = (name: keyof typeof MODELS): string[][] => {
    const turn = Object.keys(MODELS).indexOf(name) % 2;
    return USED.filter((_, i) => TESTS_ALL || i % 2 === turn);
  };

  test.each(Object.keys(MODELS) as (keyof typeof MODELS)[])("of %s", async (name) => {
    billing.clock.set("2024-04-02T00:00:00Z");
    const [own, other] = [
      await company.addModel(MODELS[name]),
      await company.addModel({ ...LIMITED, price: 2 }),
    ];
    const used = new Map<number, string[]>();
    for (const units of usedOf(name)) {
      const id = await company.subscribe(own, { started_at: "2024-03-05T00:00:00Z" });
      used.set(id, units);
      await company.use(id, ...units.map((unit): [string, string] => ["2024-03-10T00:00:00Z", unit]));
    }
    const subscription_ids = [...used.keys()];
    await company.run({ subscription_ids });
    for (const id of subscription_ids)
      await company.use(id, ["2024-03-11T00:00:00Z", "12"], ["2024-03-21T00:00:00Z", "120.5"]);
    billing.clock.set("2024-04-03T00:00:00Z");
    await company.run({ period: "2024-03", subscription_ids });
    for (const id of subscription_ids) {
      expect((await changeTo(company.api, id, other, "2024-03-20T06:00:00Z")).status).toBe(200);
      await company.use(id, ["2024-03-11T00:00:00Z", "-500"], ["2024-03-22T00:00:00Z", "1"]);
    }
    billing.clock.set("2024-04-04T00:00:00Z");
    await company.run({ period: "2024-03", subscription_ids });
    for (const [id, units] of used) {
      const records = await company.records(id);
      expect(records.length).toBeGreaterThan(2);
      for (const record of records) {
        const { differences, matches } = await verified(record.id);
        expect([name, units, record.sequence, matches, differences]).toEqual([
          name,
          units,
          record.sequence,
          true,
          [],
        ]);
      }
    }
  });

  test.each(Object.keys(MODELS) as (keyof typeof MODELS)[])(
    "of %s that was left and taken again on one day",
    async (name) => {
      billing.clock.set("2024-04-02T00:00:00Z");
      const own = await company.addModel(MODELS[name]);
      const other = await company.addModel({ ...LIMITED, price: 2 });
      const id = await company.subscribe(own, { started_at: "2024-03-05T00:00:00Z" });
      const hours = ["03", "07", "12", "20"].map((hour) => `2024-03-20T${hour}:00:00Z`);
      await company.use(id, ...hours.map((hour): [string, string] => [hour, "7.5"]));
      expect((await changeTo(company.api, id, other, "2024-03-20T06:00:00Z")).status).toBe(200);
      expect((await changeTo(company.api, id, own, "2024-03-20T09:00:00Z")).status).toBe(200);
      await company.run({ subscription_ids: [id] });
      await company.use(id, ["2024-03-20T03:00:00Z", "11"], ["2024-03-20T12:00:00Z", "-1"]);
      billing.clock.set("2024-04-03T00:00:00Z");
      await company.run({ period: "2024-03", subscription_ids: [id] });
      for (const record of await company.records(id)) {
        expect(await verified(record.id)).toMatchObject({ matches: true, differences: [] });
      }
    },
  );
});

describe("a change that is taken back on its day", () => {
  /** The records of each plan. */
  async function billWithChange(plans: Json[], events: [at: string, units: string][]): Promise<Json[][]> {
    const subscription_ids: number[] = [];
    const run = () => company.run({ period: "2024-03", subscription_ids });
    for (const plan of plans) {
      const id = await company.subscribe(plan, { started_at: "2024-03-01T00:00:00Z" });
      subscription_ids.push(id);
      await company.use(id, ["2024-03-20T00:00:00Z", "4"]);
    }
    await run();
    const other = await company.addModel(FLAT);
    for (const id of subscription_ids) {
      const { billing_model_id } = (await company.api("GET", `/subscriptions/${id}`)).body.data;
      expect((await changeTo(company.api, id, other, "2024-03-10T10:00:00Z")).status).toBe(200);
      expect((await changeTo(company.api, id, billing_model_id, "2024-03-10T12:00:00Z")).status).toBe(200);
    }
    for (const event of events) {
      for (const id of subscription_ids) await company.use(id, event);
      await run();
    }
    return Promise.all(subscription_ids.map((id) => company.records(id)));
  }

  test.each([
    ["with nothing used before it", [["2024-03-21T00:00:00Z", "30"]]],
    [
      "with corrections that exceed what they correct before it",
      [
        ["2024-03-05T00:00:00Z", "-3.5"],
        ["2024-03-21T00:00:00Z", "110"],
        ["2024-03-22T00:00:00Z", "1"],
      ],
    ],
  ] satisfies [string, [string, string][]][])("holds %s", async (_, events) => {
    const plans = [PER_UNIT, LIMITED, FLAT_ON_ZERO, VOLUME, PACKAGE];
    for (const records of await billWithChange(plans, events)) {
      expect(records.length).toBeGreaterThan(1);
      for (const { id } of records) {
        expect(await verified(id)).toMatchObject({ matches: true, differences: [] });
      }
    }
  });

  test("is found out where its amount is another", async () => {
    const [records = []] = await billWithChange(
      [VOLUME],
      [
        ["2024-03-05T00:00:00Z", "-3.5"],
        ["2024-03-21T00:00:00Z", "110"],
      ],
    );
    const { id } = records.at(-1);
    await change(id, (record) => atLine(record, 0, { amount: "112.00" }));
    expect((await verified(id)).differences).toMatchObject([
      { path: "/lines/0/amount", actual: "112.00" },
      { path: "/totalCharges" },
    ]);
  });
});
