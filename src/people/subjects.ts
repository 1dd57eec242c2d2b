import { invalid, notFound } from "../core/errors.ts";
import type { ReadTx } from "../store/store.ts";
import { APPLICATION, listApplicationsByEmail } from "./application_queries.ts";
import { CLIENT } from "./client_queries.ts";
import { CUSTOMER, listCustomersByEmail } from "./customer_queries.ts";
import type { FindPerson, PersonPreview, Subject, SubjectKind } from "./model.ts";
import type { Erased, ErasureTx, LookTx, SubjectRules } from "./subject_queries.ts";
import { joinTraces } from "./traces.ts";
import { listUsersByEmail, USER } from "./user_queries.ts";

const RULES: Readonly<Record<SubjectKind, SubjectRules>> = {
  user: USER,
  client: CLIENT,
  customer: CUSTOMER,
  application: APPLICATION,
};

const of = (kind: SubjectKind, ids: readonly (number | undefined)[]): Subject[] =>
  ids.flatMap((id) => (id === undefined ? [] : [{ kind, id }]));

/** Whom a request means. Errors: invalid unless exactly one field is given; not_found where nobody has the email. */
export async function findSubjects(tx: ReadTx, find: FindPerson): Promise<Subject[]> {
  const { email, user_id, client_id, customer_id, application_id } = find;
  const subjects = [
    ...of("user", [user_id]),
    ...of("client", [client_id]),
    ...of("customer", [customer_id]),
    ...of("application", [application_id]),
  ];
  if (subjects.length + (email === undefined ? 0 : 1) !== 1)
    throw invalid("", "must have exactly one of user_id, client_id, customer_id, application_id, email");
  if (email === undefined) return subjects;
  const found = [
    ...of("user", await listUsersByEmail(tx, email)),
    ...of("customer", await listCustomersByEmail(tx, email)),
    ...of("application", await listApplicationsByEmail(tx, email)),
  ];
  if (found.length === 0) throw notFound("Person", "with this email");
  return found;
}

/** What an erasure of subjects would take. Errors: not_found. */
export async function previewSubjects(tx: LookTx, subjects: readonly Subject[]): Promise<PersonPreview[]> {
  const previews: PersonPreview[] = [];
  for (const { kind, id } of subjects) {
    const look = await RULES[kind].look(tx, id);
    if (look === undefined) throw notFound(NOUNS[kind], id);
    previews.push({ kind, id, ...look });
  }
  return previews;
}

const NOUNS: Readonly<Record<SubjectKind, string>> = {
  user: "User",
  client: "Client",
  customer: "Customer",
  application: "Application",
};

/** Erases what is about subjects, whatever blocks it; returns what is still to be looked for. */
export async function eraseSubjects(tx: ErasureTx, subjects: readonly Subject[]): Promise<Erased> {
  const erased: Erased[] = [];
  for (const { kind, id } of subjects) erased.push(await RULES[kind].erase(tx, id));
  return {
    records: erased.reduce((sum, { records }) => sum + records, 0),
    traces: joinTraces(erased.map(({ traces }) => traces)),
  };
}
