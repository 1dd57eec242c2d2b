import { exchange } from "../access/api_keys/fixtures.ts";
import { addDraft, addProgram, APPLICATION, done, lead, openLoans } from "../loans/applications/fixtures.ts";
import { PDF, upload } from "../loans/documents/fixtures.ts";
import type { Answer, Service, Json, TestClock } from "../support/harness.ts";

/** The calls of which the table of bad input is made, on a program of the service's company in production. */
export async function openCalls(service: Service, clock: TestClock) {
  const loans = await openLoans(service);
  const staging = await openLoans(service, service, "staging");
  const program: Json = await addProgram(loans);
  const draft = (change: object = {}) => addDraft(loans, program.id, change);
  const apply = (change: object) =>
    loans.agent("POST", "/agent/applications", { ...APPLICATION, program_id: program.id, ...change });
  const lender = (id: number, action: string, body?: object) =>
    loans.lender("POST", `/lender/applications/${id}/${action}`, body);
  const agent = (id: number, action: string, body?: object) =>
    loans.agent("POST", `/agent/applications/${id}/${action}`, body);

  async function send(id: number, name = "a.pdf", bytes: Uint8Array | string = PDF): Promise<Answer> {
    return upload(service, (await exchange(service, loans.agent_key)).body.token, id, { name, bytes });
  }

  /** A text to consent to, published. */
  async function define(): Promise<Json> {
    const { id } = await done(
      loans.lender("POST", "/lender/consent-definitions", {
        code: `consent_${crypto.randomUUID().slice(0, 8)}`,
        title: "Your data",
        purpose_text: "We look at it.",
        data_text: "What you tell us.",
        data_categories: ["identity"],
        audience: "The lender",
      }),
    );
    return done(loans.lender("POST", `/lender/consent-definitions/${id}/publish`));
  }

  const evidence = { method: "checkbox", captured_at: "2026-11-21T09:00:00Z" };
  const grant = (id: number, definition_id: number, change: object = {}) =>
    agent(id, "consents", { definition_id, evidence: { ...evidence, ...change } });

  async function inState(state: Parameters<typeof lead>[2]): Promise<number> {
    const { id } = await draft();
    await lead(loans, id, state);
    return id;
  }
  return { clock, loans, staging, program, draft, apply, lender, agent, send, define, grant, inState };
}
export type Calls = Awaited<ReturnType<typeof openCalls>>;

/** The design's words for a case, what it expects, and how that is asked for. */
export type Row = [string, unknown, (calls: Calls) => Promise<unknown>];

export const status = async (answer: Promise<Answer>) => (await answer).status;

/** The status of a refusal, and the fields that it names. */
export async function refused(answer: Promise<Answer>): Promise<unknown[]> {
  const { status: code, body } = await answer;
  return [code, ...(body.details ?? []).map(({ path }: Json) => path)];
}
