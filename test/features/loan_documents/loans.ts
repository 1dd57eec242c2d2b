import type { Answer, Api, House, Tenant } from "../../harness.ts";
import { addMachine, exchange, type Machine, withToken } from "../api_keys/machine.ts";

/** A lender and an agent of a company in one environment, with a program to apply to. */
export interface Loans {
  house: House;
  lender: Machine;
  agent: Machine;
  program_id: number;
  /** Adds an application of the agent's, as a draft. */
  apply(agent?: Machine): Promise<number>;
  upload(application_id: number, file?: Partial<Sent>): Promise<Answer>;
  /** Tokens for the time that the clock was set to. */
  renew(): Promise<void>;
}

/** One part of an upload that carries a file. */
export interface Sent {
  type: string;
  name: string;
  bytes: Uint8Array | string;
}

export const PDF = "%PDF-1.7\nA payslip\n%%EOF\n";
export const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 1, 2, 3]);
export const JPEG = new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 4, 5, 6]);

export const BORROWER = {
  type: "individual",
  name: "Aminah binti Ali",
  ic_number: "900131-14-5678",
  email: "aminah@example.com",
  phone: "012-345 6789",
  monthly_income: "6500.00",
  employment_type: "salaried",
};

const PROGRAM = {
  code: "personal",
  name: "Personal loan",
  borrower_type: "individual",
  currency: "MYR",
  min_amount: "1000",
  max_amount: "50000",
  min_tenor_months: 6,
  max_tenor_months: 60,
  annual_rate_min: "4",
  annual_rate_max: "18",
  rate_type: "flat",
};

export async function openLoans(
  house: House,
  tenant: Tenant = house,
  { environment = "production", ...program }: { environment?: string } & Record<string, unknown> = {},
): Promise<Loans> {
  const lender = await addMachine(house, tenant, "lender", environment);
  const agent = await addMachine(house, tenant, "agent", environment);
  const program_id = await idOf(lender.api("POST", "/lender/programs", { ...PROGRAM, ...program }));
  await idOf(lender.api("POST", `/lender/programs/${program_id}/activate`));
  const loans: Loans = {
    house,
    lender,
    agent,
    program_id,
    apply: ({ api } = loans.agent) =>
      idOf(
        api("POST", "/agent/applications", {
          program_id,
          borrower: BORROWER,
          amount: "10000",
          tenor_months: 12,
        }),
      ),
    upload: (application_id, file) => upload(house, loans.agent.token, application_id, file),
    async renew() {
      loans.lender = await renewed(house, loans.lender);
      loans.agent = await renewed(house, loans.agent);
    },
  };
  return loans;
}

async function renewed(house: House, { key }: Machine): Promise<Machine> {
  const { token } = (await exchange(house, key)).body;
  return { key, token, api: withToken(house, token) };
}

/** Sends a document as browsers do. */
export async function upload(
  { url }: Pick<House, "url">,
  token: string,
  application_id: number,
  { type = "payslip", name = "payslip.pdf", bytes = PDF }: Partial<Sent> = {},
): Promise<Answer> {
  const form = new FormData();
  form.set("type", type);
  form.set("file", new Blob([bytes]), name);
  return send(url, token, application_id, { body: form });
}

/** Sends a body of one's own making. */
export async function send(
  url: string,
  token: string,
  application_id: number,
  request: Omit<RequestInit, "method">,
): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/agent/applications/${application_id}/documents`, {
    method: "POST",
    ...request,
    headers: { ...request.headers, authorization: `Bearer ${token}` },
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** The id that a call answers. */
export async function idOf(answer: Promise<Answer>): Promise<number> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body.data.id;
}

/** The lender's way to an approved application, from a submitted one. */
export async function approve(api: Api, id: number): Promise<void> {
  await idOf(api("POST", `/lender/applications/${id}/review`));
  const offer = { amount: "10000", tenor_months: 12, annual_rate: "8" };
  await idOf(api("POST", `/lender/applications/${id}/approve`, offer));
}
