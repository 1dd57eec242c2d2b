import { expect, test } from "bun:test";
import { eq, getTableColumns } from "drizzle-orm";
import { call } from "../../../src/app/operation.ts";
import type { ProveBills } from "../../../src/billing/proof/model.ts";
import { drawBills } from "../../../src/billing/proof/queries.ts";
import { drawing } from "../../../src/billing/proof/rules.ts";
import { proveBills } from "../../../src/billing/proof/service.ts";
import { billingRecordTable } from "../../../src/billing/records/tables.ts";
import { changeTo } from "../billing_model_changes/fixtures.ts";
import { type Company, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";

const billing = useBilling();

function prove(which: ProveBills = {}) {
  const origin = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  return call(billing.service.deps.openContext(origin), proveBills, which);
}

/** A company with three months of bills, late usage and a change in the past, of two subscriptions. */
async function liveCompany(): Promise<Company & { ids: number[] }> {
  billing.clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany({ timezone: "Europe/Berlin" });
  const ids = [await company.subscribe(PER_UNIT), await company.subscribe(GRADUATED)];
  for (const month of ["01", "02", "03"]) {
    for (const id of ids) await company.use(id, [`2026-${month}-05T10:00:00Z`, "7.5"]);
    billing.clock.set(`2026-0${Number(month) + 1}-02T00:00:00Z`);
    await company.run();
  }
  const [first = 0] = ids;
  await company.use(first, ["2026-02-10T00:00:00Z", "-1"], ["2026-02-11T00:00:00Z", "4"]);
  await company.run({ period: "2026-02" });
  const other = await company.addModel({ ...PER_UNIT, price: 2 });
  expect((await changeTo(company.api, first, other, "2026-02-15T12:00:00Z")).status).toBe(200);
  await company.use(first, ["2026-03-10T00:00:00Z", "3"]);
  return { ...company, ids };
}

test("bills, adjustments of late usage and of changes in the past follow from the events", async () => {
  const { company_id } = await liveCompany();
  const all = await prove({ company_id });
  expect(all).toEqual({ bills: all.bills, unproved: [], next_after_id: null });
  expect(all.bills).toBeGreaterThan(8);

  const { bills } = await prove({ company_id, ended_by: "2026-02-28T23:00:00Z" });
  expect(bills).toBeLessThan(all.bills);

  const pages: number[] = [];
  let after_id = 0;
  for (;;) {
    const page = await prove({ company_id, after_id, limit: 4 });
    pages.push(page.bills);
    if (page.next_after_id === null) break;
    after_id = page.next_after_id;
  }
  expect(pages.reduce((a, b) => a + b, 0)).toBe(all.bills);
  expect((await prove({ company_id, random: 3, seed: 5 })).bills).toBe(3);
  expect((await prove({ company_id, random: 5000 })).bills).toBe(all.bills);
});

test("a company's few bills among those of others are drawn from a list of them, each once", async () => {
  billing.clock.set("2026-01-01T00:00:00Z");
  const [few, many] = [await billing.addCompany(), await billing.addCompany()];
  const billedBy = async (company: Company, subscriptions: number) => {
    const started_at = "2026-01-01T00:00:00Z";
    for (let i = 0; i < subscriptions; i++) await company.subscribe(PER_UNIT, { started_at });
    await company.run();
  };
  billing.clock.set("2026-02-01T02:00:00Z");
  await billedBy(few, 4);
  await billedBy(many, 60);
  await billedBy(few, 4);
  const { store } = billing.service.deps;
  const seen = new Set<number>();
  for (let seed = 0; seed < 20; seed++) {
    let guesses = 0;
    const below = drawing(seed);
    const drawn = await drawBills(store.read, { company_id: few.company_id }, 3, (n) => {
      guesses++;
      return below(n);
    });
    expect(guesses).toBe(3);
    expect(new Set(drawn.map(({ id }) => id)).size).toBe(3);
    expect(new Set(drawn.map(({ company_id }) => company_id))).toEqual(new Set([few.company_id]));
    for (const { id } of drawn) seen.add(id);
  }
  expect(seen.size).toBe(8);
});

test("a bill whose total, line or model was changed on disk is named, with both values", async () => {
  const { company_id, ids, ...company } = await liveCompany();
  const { store } = billing.service.deps;
  const [subscription_id = 0] = ids;
  const record = (await company.records(subscription_id)).find(({ kind }) => kind === "period");
  const t = store.read.use(billingRecordTable);
  const [row] = await store.read.select(getTableColumns(t)).from(t).where(eq(t.id, record?.id));
  if (!row) throw new Error("There is no record");
  const change = (values: Partial<typeof row>) =>
    store.tx(async (q) => void (await q.update(t).set(values).where(eq(t.id, row.id))));
  const pathsOf = async () => {
    const { unproved } = await prove({ company_id });
    expect(unproved.every((bill) => bill.subscription_id === subscription_id)).toBe(true);
    return unproved.find((bill) => bill.billing_record_id === row.id)?.differences ?? [];
  };

  await change({ totalCharges: "3.76" });
  expect(await pathsOf()).toEqual([{ path: "/totalCharges", expected: "3.75", actual: "3.76" }]);
  await change({ totalCharges: row.totalCharges, usage_seq: 0 });
  expect((await pathsOf()).map(({ path }) => path)).toContain("/lines/0/event_count");
  // A bill that is right in itself, for the day before its period's end: only the whole period tells.
  const lines = row.lines.map((line) => ({ ...line, to: "2026-01-30T23:00:00.000Z" }));
  await change({ usage_seq: row.usage_seq, lines });
  const of_period = await pathsOf();
  expect(of_period.length).toBeGreaterThan(0);
  expect(of_period.every(({ path }) => path.startsWith("/period/usage/"))).toBe(true);
  await change({ lines: row.lines });
  expect(await pathsOf()).toEqual([]);
});

test("bills are drawn evenly, and the same ones by the same seed", async () => {
  const below = drawing(7);
  const counts = new Map<number, number>();
  for (let i = 0; i < 5_000; i++) {
    const drawn = below(10);
    counts.set(drawn, (counts.get(drawn) ?? 0) + 1);
  }
  expect(counts.size).toBe(10);
  expect(Math.min(...counts.values())).toBeGreaterThan(350);
  const [one, other] = [drawing(7), drawing(7)];
  expect([one(1000), one(1000)]).toEqual([other(1000), other(1000)]);
});
