import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readErasedPeople } from "../../src/backup/erased_ids.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { openPoint } from "../../src/backup/restore/point.ts";
import { restorePoint } from "../../src/backup/restore/restore.ts";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { restoreNeeds } from "../../src/server/restore_needs.ts";
import { makePoint } from "../backup/made_point.ts";
import { proveAll } from "../backup/full_service.ts";
import { answer, PAID, paymentsOf } from "../emandate/payments/fixtures.ts";
import { type BillingFixture, openBillingFixture } from "../billing/fixtures.ts";
import { lead } from "../loans/applications/fixtures.ts";
import { filesOf, openBorrowing } from "../loans/documents/fixtures.ts";
import type { Json } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";
import { addPeople, marksOf, type People, placesOf } from "./fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "people-"));
const BACKUP_URL = `file://${folder}/backups`;
const ERASED = { word: "markera", digit: 1 };
const KEPT = { word: "markerb", digit: 2 };
let billing: BillingFixture;
let people: People;
let others: People;

beforeAll(async () => {
  billing = await openBillingFixture({ BACKUP_URL });
  billing.clock.set("2026-01-10T04:00:00Z");
  people = await addPeople(billing, ERASED.word, ERASED.digit);
  others = await addPeople(billing, KEPT.word, KEPT.digit);
  billing.clock.set("2026-02-02T00:00:00Z");
  await people.company.run();
});
afterAll(async () => {
  await billing.service.stop();
  rmSync(folder, { recursive: true, force: true });
});

const places = (of = ERASED, deps = billing.service.deps) => placesOf(deps, marksOf(of));

async function post(path: string, body: Json): Promise<{ status: number; said: string; data: Json }> {
  const { status, body: got } = await people.company.api("POST", path, body);
  return { status, said: JSON.stringify(got.error ?? got), data: got.data };
}
const erase = (body: Json) => post("/people/erasures", body);
const preview = (body: Json) => post("/people/erasures/preview", body);

/** What says something of people before anybody is erased, in either company. */
const NAMED = [
  "api_keys.name",
  "audit_log.changes",
  "audit_log.email",
  "audit_log.input",
  "browser_sessions.user_agent",
  "clients.name",
  "consents.evidence",
  "consents.subject_name",
  "emandate_customers.email",
  "emandate_customers.ic_number",
  "emandate_customers.name",
  "emandate_customers.phone",
  "idempotency_keys.answer",
  "loan_applications.answers",
  "loan_applications.borrower",
  "loan_applications.borrower_name",
  "loan_applications.decision",
  "loan_applications.external_reference",
  "loan_applications.purpose",
  "loan_applications.requested",
  "loan_documents.file_name",
  "mandate_events.reason",
  "mandate_payments.description",
  "mandates.status_reason",
  "subscriptions.external_subscription_id",
  "subscriptions.name",
  "usage_imports.file_name",
  "users.email",
  "users.name",
  "webhook_logs.attempts",
];
/** What bills show of a client: the name, and that of its subscription. */
const BILLED = ["clients.name", "subscriptions.external_subscription_id", "subscriptions.name"];

test("the companies name people in every place", async () => {
  expect(await places()).toEqual(NAMED);
  expect(await places(KEPT)).toEqual(NAMED);
  await makePoint(billing.service.deps, BACKUP_URL);
});

test("a preview says what would be erased, and changes nothing", async () => {
  const { email, id, mandate } = people.customer;
  const { data } = await preview({ email });
  expect(data.subjects).toEqual([
    {
      kind: "customer",
      id,
      records: { emandate_customers: 1, mandates: 2, mandate_payments: 1, mandate_orders: 3 },
      blocked: `mandate ${mandate} is active: end it first`,
      kept: null,
    },
  ]);
  const borrower = (await preview({ email: `borrower.${ERASED.word}@example.com` })).data.subjects;
  expect(borrower.map((one: Json) => [one.id, one.records.loan_documents, one.blocked])).toEqual([
    [people.applications.rejected, 1, null],
    [people.applications.draft, 1, null],
  ]);
  const [billed] = (await preview({ client_id: people.billed_client })).data.subjects;
  expect(billed).toMatchObject({
    blocked: expect.stringContaining("1 active"),
    kept: expect.stringContaining("bills"),
  });
  expect(await places()).toEqual(NAMED);
});

test("what is in force, one's own account and nobody are refused, and nothing is erased", async () => {
  const { api, admin_email } = people.company;
  expect(await erase({ customer_id: people.customer.id })).toMatchObject({
    status: 409,
    said: expect.stringMatching(/Cannot erase customer \d+: mandate \d+ is active/),
  });
  expect((await erase({ client_id: people.billed_client })).status).toBe(409);
  expect((await erase({ email: admin_email })).said).toContain("nobody erases themselves");
  expect((await erase({ email: "nobody@example.com" })).status).toBe(404);
  expect((await erase({ customer_id: others.customer.id })).status).toBe(404);
  expect((await erase({ user_id: others.user.id })).status).toBe(404);
  expect((await erase({ application_id: others.applications.draft })).status).toBe(404);
  expect((await erase({ client_id: others.client.id })).status).toBe(404);
  for (const body of [{}, { user_id: 1, email: "a@example.com" }])
    expect((await erase(body)).status).toBe(422);
  const manager = await billing.service.signIn(people.user.email);
  for (const path of ["/people/erasures", "/people/erasures/preview"])
    expect((await manager("POST", path, { email: admin_email })).status).toBe(403);
  expect((await api("GET", "/people/erasures")).body.data).toEqual([]);
});

test("an application under way is refused, and a loan until its last month", async () => {
  const loans = await openBorrowing(billing.service, others.company);
  const [running, open] = [await loans.apply(), await loans.apply()];
  await lead(loans, open, "submitted");
  await lead(loans, running, "disbursed");
  const refusal = async (application_id: number) =>
    (await others.company.api("POST", "/people/erasures", { application_id })).body.error;
  expect(JSON.stringify(await refusal(open))).toContain("it is submitted: it must come to its end first");
  expect(JSON.stringify(await refusal(running))).toContain("its loan runs until 2028-02-02");
});

test("a user's sessions end with the answer", async () => {
  const api = await billing.service.signIn(people.user.email);
  expect((await api("GET", "/clients")).status).toBe(200);
  const { status, data } = await erase({ user_id: people.user.id });
  expect([status, data.status, data.subjects]).toEqual([
    202,
    "pending",
    [{ kind: "user", id: people.user.id }],
  ]);
  expect((await api("GET", "/clients")).status).toBe(401);
});

test("erased people are named nowhere, but by bills; the other company's are where they were", async () => {
  const { company, customer, applications } = people;
  const { api } = company;
  await api("POST", "/emandate/simulator/scenarios/mandate_terminated_by_bank/run", {
    mandate_id: customer.mandate,
  });
  const [payment] = await paymentsOf(api, customer.mandate);
  expect((await erase({ email: customer.email })).said).toContain(`not answered for payment ${payment.id}`);
  await answer(billing.service.deps, company, payment.order_no, PAID);
  const [subscription] = (await api("GET", `/subscriptions?client_id=${people.billed_client}`)).body.data;
  await api("POST", `/subscriptions/${subscription.id}/cancel`, { at: "now" });
  for (const body of [
    { email: people.deleted_user },
    { client_id: people.client.id },
    { client_id: people.billed_client },
    { email: customer.email },
    { application_id: applications.rejected },
    { application_id: applications.draft },
  ]) {
    expect([body, await erase(body)]).toMatchObject([body, { status: 202 }]);
  }
  const metadata = { person: `Caller ${ERASED.word}` };
  expect((await api("POST", "/usage/erasures", { metadata })).status).toBe(202);
  await runNamedJob(billing.service, "usage_erasures");
  await runNamedJob(billing.service, "person_erasures");
  expect(await places()).toEqual(["audit_log.input", ...BILLED]);
  expect(await places(KEPT)).toEqual(NAMED);
  const listed = (await api("GET", "/people/erasures?limit=100")).body.data;
  expect(listed.map((one: Json) => one.status)).toEqual(Array(7).fill("done"));
  expect(JSON.stringify(listed)).not.toMatch(marksOf(ERASED));
  expect(JSON.stringify((await api("POST", "/usage/events/search", {})).body)).not.toMatch(marksOf(ERASED));
});

test("amounts, ids, dates and states stay, and the audit log says who did what", async () => {
  const { company, customer, applications } = people;
  const { api } = company;
  const mandate = (await api("GET", `/emandate/mandates/${customer.mandate}`)).body.data;
  expect(mandate).toMatchObject({
    status: "terminated",
    max_amount: expect.any(String),
    customer: {
      id: customer.id,
      name: "Erased",
      email: `erased-${customer.id}@erased.invalid`,
      phone: null,
      ic_number: null,
    },
    payments: [{ amount: "20.00", status: "paid", description: null }],
  });
  const failed = (await api("GET", `/emandate/mandates/${customer.failed_mandate}`)).body.data;
  expect([failed.status, failed.authorization_url]).toEqual(["cancelled", null]);
  const events = (await api("GET", "/events?limit=200")).body.data;
  const types = events.map(({ type, data }: Json) => `${type} ${data.id}`);
  expect(types).toContain(`emandate.mandate.cancelled ${customer.failed_mandate}`);
  for (const client of [people.client.id, people.billed_client])
    expect(types.filter((type: string) => type === `client.deleted ${client}`)).toHaveLength(1);
  const rows = await billing.service.deps.store.read.run(
    `SELECT status, amount, tenor_months, answers FROM loan_applications WHERE id IN (${applications.rejected}, ${applications.draft}) ORDER BY id`,
    [],
    false,
  );
  expect(rows.map((row) => JSON.stringify(row).replaceAll(/[\\" ]/g, ""))).toEqual([
    "[rejected,10000.00,24,{}]",
    "[draft,10000.00,24,{}]",
  ]);
  expect(filesOf(billing.service, company.company_id)).toEqual([]);
  expect(filesOf(billing.service, others.company.company_id)).toHaveLength(2);
  const log = (await api("GET", `/audit-log?user_id=${people.user.id}&operation=create_client`)).body.data;
  expect(log).toMatchObject([
    { actor: { user_id: people.user.id, email: null }, address: null, operation: "create_client" },
  ]);
  const asked = (await api("GET", "/audit-log?operation=erase_person")).body.data.filter(
    (entry: Json) => entry.outcome === "ok",
  );
  expect(asked.map((entry: Json) => entry.target.type)).toEqual(Array(7).fill("person_erasure"));
  expect(
    asked
      .map((entry: Json) => Object.keys(entry.input))
      .flat()
      .toSorted(),
  ).not.toContain("email");
});

test("again changes nothing, whoever it is", async () => {
  for (const body of [
    { user_id: people.user.id },
    { client_id: people.client.id },
    { customer_id: people.customer.id },
    { application_id: people.applications.draft },
  ]) {
    expect([body, await erase(body)]).toMatchObject([body, { status: 202 }]);
  }
  await runNamedJob(billing.service, "person_erasures");
  expect(await places()).toEqual(["audit_log.input", ...BILLED]);
  expect(await places(KEPT)).toEqual(NAMED);
});

test("documents wait for a backup that reads them", async () => {
  const { company, applications } = others;
  const lock = await billing.service.deps.store.lock("backup");
  const { api } = company;
  const asked = await api("POST", "/people/erasures", { application_id: applications.draft });
  expect(asked.status).toBe(202);
  await runNamedJob(billing.service, "person_erasures");
  const newest = async () => (await api("GET", "/people/erasures")).body.data[0].status;
  expect([await newest(), filesOf(billing.service, company.company_id).length]).toEqual(["pending", 2]);
  await lock?.release();
  await runNamedJob(billing.service, "person_erasures");
  expect([await newest(), filesOf(billing.service, company.company_id).length]).toEqual(["done", 1]);
});

test("BILL_RETENTION_YEARS after its last subscription ended a client's bills name nobody, and are proved", async () => {
  const { deps } = billing.service;
  await runNamedJob(billing.service, "bill_retention");
  expect(await places()).toContain("clients.name");
  const bills = await proveAll(deps);
  expect(bills).toBeGreaterThan(0);
  const invoices = await deps.store.read.run(
    'SELECT id, lines, "totalCharges" FROM billing_records ORDER BY id',
    [],
    false,
  );
  billing.clock.set("2033-03-01T00:00:00Z");
  await runNamedJob(billing.service, "bill_retention");
  await runNamedJob(billing.service, "person_erasures");
  expect(await places()).toEqual([]);
  expect(await places(KEPT)).toContain("clients.name");
  expect(await proveAll(deps)).toBe(bills);
  expect(
    await deps.store.read.run('SELECT id, lines, "totalCharges" FROM billing_records ORDER BY id', [], false),
  ).toEqual(invoices);
});

test("after a restore of an older point all are erased again", async () => {
  await runNamedJob(billing.service, "erased_ids");
  await runNamedJob(billing.service, "erased_ids");
  const target = openTarget(BACKUP_URL);
  const erased_people = await Array.fromAsync(readErasedPeople(target));
  expect(JSON.stringify(erased_people)).not.toMatch(/marker|@/);
  expect(erased_people.length).toBeGreaterThan(10);
  const data_dir = join(folder, "restored");
  const now = billing.clock.now();
  const later = { id: 9_999, company_id: 9_999, subjects: [{ kind: "user" as const, id: 1 }] };
  await restorePoint(
    await openPoint(target, "latest", null),
    { data_dir, database_url: null, usage_url: null },
    {
      ...restoreNeeds({ usage_memory_limit: "512MB", usage_lanes: 8 }, now),
      erased: [{ id: 9_999, company_id: 9_999, ids: "" }],
      erased_people: [...erased_people, later],
    },
  );
  const config = readConfig({
    DATA_DIR: data_dir,
    LOG_LEVEL: "fatal",
    USAGE_MEMORY_LIMIT: "512MB",
    DISK_RESERVE: "0",
  });
  const deps = await openDeps(config, { clock: billing.clock });
  try {
    expect(await places(ERASED, deps)).toEqual(NAMED);
    await runNamedJob({ deps }, "person_erasures");
    // Its subscription runs again in the restored point: it must be cancelled again first.
    expect(await places(ERASED, deps)).toEqual(["audit_log.input", ...BILLED]);
    // Of the other company's borrower one application was erased, and what texts of the other one said.
    const texts = ["loan_applications.decision", "loan_applications.requested"];
    expect(await places(KEPT, deps)).toEqual(NAMED.filter((place) => !texts.includes(place)));
    expect(filesOf({ ...billing.service, deps }, people.company.company_id)).toEqual([]);
  } finally {
    await deps.close();
  }
});
