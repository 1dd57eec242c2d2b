import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Deps } from "../../src/app/deps.ts";
import { TABLES } from "../../src/server/schema.ts";
import type { TableDefinition } from "../../src/store/columns.ts";
import { stamped } from "../../src/store/columns.ts";
import { usageImportTable } from "../../src/usage/import/tables.ts";
import { webhookLogTable } from "../../src/webhooks/deliveries/tables.ts";
import { type BillingFixture, type Company, PER_UNIT } from "../billing/fixtures.ts";
import { done, lead } from "../loans/applications/fixtures.ts";
import { publish } from "../loans/consents/fixtures.ts";
import { openBorrowing, upload } from "../loans/documents/fixtures.ts";
import { openBrowser } from "../support/browser.ts";
import { type Api, type Json, PASSWORD } from "../support/harness.ts";

/** A company with people in every place where one can be named; all that is said of them has the word in it. */
export interface People {
  company: Company;
  word: string;
  user: { id: number; email: string };
  deleted_user: string;
  /** A client without subscriptions, its user, and one that bills name. */
  client: { id: number; user: number };
  billed_client: number;
  customer: { id: number; email: string; mandate: number; failed_mandate: number };
  /** A rejected application with documents, and a draft. */
  applications: { rejected: number; draft: number };
}

/** What is looked for: the word, or a number of a person. */
export const marksOf = ({ word, digit }: { word: string; digit: number }) =>
  new RegExp(`${word}|900131-?14-?567${digit}|12-?345 ?670${digit}`, "i");

const key = () => ({ "idempotency-key": crypto.randomUUID() });

/** Fills a company with people, through the API where it has a way in. */
export async function addPeople(billing: BillingFixture, word: string, digit: number): Promise<People> {
  const company = await billing.addCompany();
  const { api } = company;
  const email = (who: string) => `${who}.${word}@example.com`;
  const { user, deleted_user } = await addUsers(billing, company, email, word);
  const { client, billed_client } = await addClients(billing, company, email, word);
  const customer = await addCustomer(api, { email: email("customer"), word, digit });
  const applications = await addBorrowers(billing, company, { email: email("borrower"), word, digit });
  await addTexts(billing.service.deps, company, email("customer"), user.api);
  return {
    company,
    word,
    user: { id: user.id, email: email("user") },
    deleted_user,
    client,
    billed_client,
    customer,
    applications,
  };
}

type EmailOf = (who: string) => string;

async function addUsers(billing: BillingFixture, { api }: Company, email: EmailOf, word: string) {
  const add = async (who: string) => {
    const body = { email: email(who), name: `${who} ${word}`, password: PASSWORD, role: "manager" };
    const { id } = await done(api("POST", "/users", body, key()));
    return { id, api: await billing.service.signIn(body.email) };
  };
  const user = await add("user");
  await billing.service.anonymous("POST", "/login", {
    email: email("user"),
    password: "a wrong one, surely",
  });
  await openBrowser(billing.service, email("user"), { headers: { "user-agent": `Browser of ${word}` } });
  await done(user.api("POST", "/clients", { name: "Some Firm" }, key()));
  await done(
    api("PUT", `/users/${user.id}`, { email: email("user"), name: `Renamed ${word}`, role: "manager" }),
  );
  const gone = await add("gone");
  await done(gone.api("POST", "/clients", { name: "Another Firm" }));
  await done(api("DELETE", `/users/${gone.id}`));
  return { user, deleted_user: email("gone") };
}

async function addClients(billing: BillingFixture, company: Company, email: EmailOf, word: string) {
  const { api } = company;
  const { id } = await done(api("POST", "/clients", { name: `Client ${word}` }, key()));
  const contact = {
    email: email("contact"),
    name: `Contact ${word}`,
    password: PASSWORD,
    role: "client",
    client_id: id,
  };
  const user = await done(api("POST", "/users", contact));
  await billing.service.signIn(contact.email);
  const billed = await done(api("POST", "/clients", { name: `Billed ${word}` }));
  const subscription = await company.subscribe(PER_UNIT, {
    client_id: billed.id,
    name: `Line of Billed ${word}`,
    external_subscription_id: `${word}@line`,
  });
  await company.use(subscription, [billing.clock.now().toString(), "3"]);
  const event = {
    external_subscription_id: `${word}@line`,
    usage: 1,
    metadata: { person: `Caller ${word}` },
  };
  await done(api("POST", "/usage/events", event));
  return { client: { id, user: user.id }, billed_client: billed.id };
}

async function addCustomer(api: Api, { email, word, digit }: { email: string; word: string; digit: number }) {
  const body = {
    customer_name: `Customer ${word}`,
    customer_email: email,
    customer_phone: `012-345 670${digit}`,
    customer_ic_number: `900131-14-567${digit}`,
  };
  const act = (id: number, action: string, more: Json = {}) =>
    done(api("POST", `/emandate/mandates/${id}/${action}`, more, key()));
  const run = (name: string, id: number) =>
    done(api("POST", `/emandate/simulator/scenarios/${name}/run`, { mandate_id: id }));
  const mandate = await done(api("POST", "/emandate/mandates", body, key()));
  await act(mandate.id, "authorize");
  await run("mandate_authorized", mandate.id);
  await run("mandate_activated", mandate.id);
  const payment = { amount: "20.00", description: `Fee of Customer ${word}` };
  await done(api("POST", `/emandate/mandates/${mandate.id}/payments`, payment, key()));
  await act(mandate.id, "suspend", { reason: `Customer ${word} called` });
  await act(mandate.id, "resume", { reason: `${email} wrote` });
  const failed = await done(api("POST", "/emandate/mandates", body));
  await act(failed.id, "authorize");
  await run("mandate_cancelled_by_customer", failed.id);
  return { id: mandate.customer_id, email, mandate: mandate.id, failed_mandate: failed.id };
}

async function addBorrowers(
  { service }: BillingFixture,
  company: Company,
  { email, word, digit }: { email: string; word: string; digit: number },
) {
  const user = await company.addUser("client", company.client_id);
  const config = { title: "Application", fields: [{ name: "nickname", type: "text", label: "Nickname" }] };
  const { id: form_config_id } = await done(user("POST", "/my/forms", { name: "Application", config }));
  const loans = await openBorrowing(service, company, { form_config_id });
  const borrower = {
    type: "individual",
    name: `Borrower ${word}`,
    ic_number: `900131-14-567${digit}`,
    email,
    phone: `012-345 670${digit}`,
  };
  const application = { borrower, purpose: `For ${word}`, answers: { nickname: word } };
  const rejected = await loans.apply();
  await done(
    loans.agent(
      "PUT",
      `/agent/applications/${rejected}`,
      { ...application, external_reference: word },
      key(),
    ),
  );
  const draft = await loans.apply();
  await done(loans.agent("PUT", `/agent/applications/${draft}`, application));
  await done(loans.upload(rejected, { name: `${word}.pdf`, bytes: `%PDF-1.7\n${word}\n%%EOF\n` }));
  await done(
    upload(service, await loans.token(), draft, {
      name: `${word}.pdf`,
      bytes: `%PDF-1.7\nD ${word}\n%%EOF\n`,
    }),
  );
  const { id: definition_id } = await publish(loans);
  const captured_at = "2026-01-01T00:00:00Z";
  const evidence = { method: "otp", captured_at, ip: "198.51.100.7", user_agent: `Browser of ${word}` };
  await done(loans.agent("POST", `/agent/applications/${rejected}/consents`, { definition_id, evidence }));
  await lead(loans, rejected, "under_review");
  const items = [{ kind: "field", code: "borrower.email", note: `Ask Borrower ${word}` }];
  await done(loans.lender("POST", `/lender/applications/${rejected}/request-action`, { items }));
  await done(loans.agent("POST", `/agent/applications/${rejected}/submit`));
  const decision = { reason_code: "credit", note: `Borrower ${word} owes much` };
  await done(loans.lender("POST", `/lender/applications/${rejected}/reject`, decision));
  return { rejected, draft };
}

/** Texts of other records in which somebody is named. */
async function addTexts(
  { store, clock }: Deps,
  company: Company,
  email: string,
  refused: Api,
): Promise<void> {
  const laptop = { name: `Laptop of ${email}`, role: "ingest", environment: "production" };
  await done(company.api("POST", "/api-keys", laptop));
  // Only admins may: the refusal is in the audit log.
  await refused("POST", "/users", { email, password: PASSWORD, role: "analyst" });
  await done(company.api("POST", "/products", { name: "Gold" }));
  const { id: endpoint_id } = await done(
    company.api("POST", "/webhooks", { url: "https://example.com/hook", event_types: ["*"] }),
  );
  const { company_id } = company;
  const now = clock.now();
  const attempt = { no: 1, at: now.toString(), status_code: 400, duration_ms: 1, error: null };
  const log = {
    company_id,
    endpoint_id,
    message_id: crypto.randomUUID(),
    event_type: "client.created",
    url: "https://example.com/hook",
    payload: { type: "client.created", timestamp: now.toString(), data: { id: 1 } },
    status: "succeeded" as const,
    step: 1,
    attempts: [{ ...attempt, response_excerpt: `No contact ${email}` }],
    ...stamped(now),
  };
  const imported = { company_id, file_name: `${email}.csv`, digest: email.slice(0, 3), bytes: 1, rows: 1 };
  await store.tx(async (q) => {
    await q.insert(q.use(webhookLogTable)).values(log);
    await q.insert(q.use(usageImportTable)).values({ ...imported, ...stamped(now) });
  });
}

/** The records whose columns say what is looked for, as `table.column`, each once; of every table and column. */
export async function placesOf({ store }: Pick<Deps, "store">, marks: RegExp): Promise<string[]> {
  const places = new Set<string>();
  for (const table of Object.values(TABLES) as TableDefinition<PgTable>[]) {
    const own = store.read.use(table);
    for (const row of await store.read.select(getTableColumns(own)).from(own)) {
      for (const [name, value] of Object.entries(row)) {
        if (marks.test(JSON.stringify(value))) places.add(`${getTableName(own)}.${name}`);
      }
    }
  }
  return [...places].toSorted();
}
