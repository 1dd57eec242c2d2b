import type { Api, Service, Json, Tenant } from "../../support/harness.ts";
import { addKey, exchange, withToken } from "../../access/api_keys/fixtures.ts";

/** A lender and an agent of one company, in one environment. */
export interface Loans {
  lender: Api;
  agent: Api;
  /** The agent's key, as its company made it. */
  agent_key: Json;
}

/** A running service with its first company, in this process or in one of its own. */
export type LoanService = Pick<Service, "url" | "anonymous"> & Tenant;

export async function openLoans(
  service: LoanService,
  tenant: Tenant = service,
  environment = "production",
): Promise<Loans> {
  const lender = await addKey(tenant, "lender", environment);
  const agent = await addKey(tenant, "agent", environment);
  return {
    lender: signedIn(service, lender),
    agent: signedIn(service, agent),
    agent_key: agent,
  };
}

/** A machine that gets itself a new token whenever the one it has is over. */
export function signedIn(service: Pick<Service, "url" | "anonymous">, key: Json): Api {
  let api = service.anonymous;
  return async (...sent) => {
    const answer = await api(...sent);
    if (answer.status !== 401) return answer;
    const { body } = await exchange(service, key);
    api = withToken(service, body.token);
    return api(...sent);
  };
}

export const PROGRAM = {
  name: "Personal loan",
  borrower_type: "individual",
  currency: "MYR",
  min_amount: "1000.00",
  max_amount: "50000.00",
  min_tenor_months: 6,
  max_tenor_months: 60,
  annual_rate_min: "4.5",
  annual_rate_max: "18",
  rate_type: "reducing",
};

export const APPLICATION = {
  borrower: {
    type: "individual",
    name: "Aminah binti Ali",
    ic_number: "900131-14-5678",
    email: "aminah@example.com",
    phone: "012-345 6789",
    monthly_income: "4500.00",
    employment_type: "salaried",
  },
  amount: "10000.00",
  tenor_months: 24,
  purpose: "A motorcycle",
};

/** What is answered under `data`; throws unless it went well. */
export async function done(answer: ReturnType<Api>): Promise<Json> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data;
}

export async function addProgram({ lender }: Loans, change: object = {}): Promise<Json> {
  const code = `P-${crypto.randomUUID().slice(0, 8)}`;
  const { id } = await done(lender("POST", "/lender/programs", { ...PROGRAM, code, ...change }));
  return done(lender("POST", `/lender/programs/${id}/activate`));
}

export function addDraft({ agent }: Loans, program_id: number, change: object = {}): Promise<Json> {
  return done(agent("POST", "/agent/applications", { ...APPLICATION, program_id, ...change }));
}

export const OFFER = { amount: "9000.00", tenor_months: 24, annual_rate: "8.5" };

/** The calls that lead a draft from state to state. */
const STEPS = {
  submitted: ["agent", "submit", undefined],
  under_review: ["lender", "review", undefined],
  action_required: ["lender", "request-action", { items: [{ kind: "field", code: "borrower.email" }] }],
  approved: ["lender", "approve", OFFER],
  rejected: ["lender", "reject", { reason_code: "credit", note: "Too many loans" }],
  accepted: ["agent", "accept", undefined],
  declined: ["agent", "decline", undefined],
  withdrawn: ["agent", "withdraw", undefined],
  disbursed: ["lender", "disburse", { reference: "TT-1" }],
} as const;
type Reached = keyof typeof STEPS;

/** Which states lie before each. */
const WAYS: Record<Reached, readonly Reached[]> = {
  submitted: [],
  under_review: ["submitted"],
  action_required: ["submitted", "under_review"],
  approved: ["submitted", "under_review"],
  rejected: ["submitted", "under_review"],
  accepted: ["submitted", "under_review", "approved"],
  declined: ["submitted", "under_review", "approved"],
  withdrawn: [],
  disbursed: ["submitted", "under_review", "approved", "accepted"],
};

/** Leads a draft to a state, by all the calls that it takes. */
export async function lead(loans: Loans, id: number, to: Reached): Promise<Json> {
  let application: Json;
  for (const state of [...WAYS[to], to]) {
    const [side, action, body] = STEPS[state];
    application = await done(loans[side]("POST", `/${side}/applications/${id}/${action}`, body));
  }
  return application;
}
