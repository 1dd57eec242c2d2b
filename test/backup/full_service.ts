import type { PgTable } from "drizzle-orm/pg-core";
import { getTableColumns, getTableName } from "drizzle-orm";
import { call } from "../../src/app/operation.ts";
import { proveBills } from "../../src/billing/proof/service.ts";
import { TABLES } from "../../src/server/schema.ts";
import type { Deps } from "../../src/app/deps.ts";
import type { TableDefinition } from "../../src/store/columns.ts";
import type { Store } from "../../src/store/store.ts";
import {
  type BillingFixture,
  type Company,
  CREDIT,
  GRADUATED,
  openBillingFixture,
  PER_UNIT,
} from "../billing/fixtures.ts";
import { changeTo } from "../billing/billing_model_changes/fixtures.ts";
import { addMandate, answer, at, NO_FUNDS, PAID, paymentsOf } from "../emandate/payments/fixtures.ts";
import { openBorrowing, PDF, PNG } from "../loans/documents/fixtures.ts";

/** A service with something of everything in it. */
export interface FullService extends BillingFixture {
  companies: (Company & { subscriptions: number[]; mandate: number })[];
}

/** Two companies with bills and adjustments, credits, mandates with debits in every state, documents and webhooks. */
export async function openFullService(env: Record<string, string> = {}): Promise<FullService> {
  const billing = await openBillingFixture(env);
  const companies: FullService["companies"] = [];
  for (const timezone of ["Europe/Berlin", "Asia/Kuala_Lumpur"])
    companies.push(await live(billing, timezone));
  return { ...billing, companies };
}

async function live(billing: BillingFixture, timezone: string): Promise<FullService["companies"][number]> {
  const { clock } = billing;
  clock.set("2026-01-01T00:00:00Z");
  const company = await billing.addCompany({ timezone });
  const { api } = company;
  const webhook = { url: "https://example.com/hook", event_types: ["*"] };
  const hooked = await api("POST", "/webhooks", webhook);
  if (hooked.status !== 201) throw new Error(JSON.stringify(hooked.body));
  const subscriptions = [
    await company.subscribe(PER_UNIT),
    await company.subscribe(GRADUATED),
    await company.subscribe(CREDIT),
  ];
  for (const month of ["01", "02"]) {
    for (const id of subscriptions) {
      await company.use(id, [`2026-${month}-05T10:00:00Z`, "7.5"], [`2026-${month}-19T10:00:00Z`, "230"]);
    }
    clock.set(`2026-0${Number(month) + 1}-02T00:00:00Z`);
    await company.run();
  }
  const [first = 0] = subscriptions;
  await company.use(first, ["2026-01-10T00:00:00Z", "-1"], ["2026-02-11T00:00:00Z", "4.000001"]);
  await company.run({ period: "2026-02" });
  const other = await company.addModel({ ...PER_UNIT, name: "Dearer", price: 2 });
  await changeTo(api, first, other, "2026-02-15T12:00:00Z");
  const mandate = await addMandates(billing, company);
  return { ...company, subscriptions, mandate };
}

/** A debit that was paid, one that is tried again, one without an answer and one that is due. */
async function addMandates({ clock, service: { deps } }: BillingFixture, company: Company): Promise<number> {
  clock.set(at("2026-03-04"));
  const mandates: number[] = [];
  for (let i = 0; i < 3; i++) mandates.push(await addMandate(deps, company, "2026-03-04"));
  const collected = await company.api("POST", "/emandate/collections/run", {});
  if (collected.status !== 202) throw new Error(JSON.stringify(collected.body));
  const [paid, failed, open] = mandates;
  for (const [mandate, result] of [
    [paid, PAID],
    [failed, NO_FUNDS],
  ] as const) {
    const [payment] = await paymentsOf(company.api, mandate ?? 0);
    await answer(deps, company, payment.order_no, result);
  }
  await addMandate(deps, company, "2026-03-05");
  return open ?? 0;
}

/** Uploads two documents for the service's own company. */
export async function addDocuments({ service }: FullService): Promise<void> {
  const loans = await openBorrowing(service, service);
  const id = await loans.apply();
  await loans.upload(id, { bytes: PDF });
  await loans.upload(id, { bytes: PNG });
}

/** A table's number of rows, and their digest: whatever their order, and that of keys in JSON. */
export interface TableDigest {
  rows: number;
  digest: string;
}

/** The digest of every table but those that change by themselves. */
export async function digestsOf({ read }: Store): Promise<Record<string, TableDigest>> {
  const all: Record<string, TableDigest> = {};
  for (const table of Object.values(TABLES) as TableDefinition<PgTable>[]) {
    const own = read.use(table);
    const rows = await read.select(getTableColumns(own)).from(own);
    const texts = rows.map((row) => JSON.stringify(sorted(row))).toSorted();
    all[getTableName(own)] = { rows: rows.length, digest: Bun.hash(texts.join("\n")).toString(16) };
  }
  return all;
}

/** The same value with the keys of its objects in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, own]) => [key, sorted(own)] as const);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Proves all bills; returns how many there are. Errors: throws where one is not what its events come to. */
export async function proveAll(deps: Deps): Promise<number> {
  const origin = { actor: { kind: "operator" }, origin: "cli", request_id: "test", address: null } as const;
  const { bills, unproved } = await call(deps.openContext(origin), proveBills, {});
  if (unproved.length > 0) throw new Error(JSON.stringify(unproved));
  return bills;
}
