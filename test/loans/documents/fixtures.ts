import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Answer, Service, Tenant } from "../../support/harness.ts";
import { objectsAt } from "../../support/shared_stores.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import {
  addDraft,
  addProgram,
  done,
  type Loans,
  openLoans,
  type LoanService,
} from "../applications/fixtures.ts";

/** A lender and an agent, with a program to apply to and documents to send. */
export interface Borrowing extends Loans {
  /** Adds an application of the agent's, as a draft. */
  apply(): Promise<number>;
  upload(application_id: number, file?: Partial<Sent>): Promise<Answer>;
  /** A new token of the agent's. */
  token(): Promise<string>;
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

export async function openBorrowing(
  service: LoanService,
  tenant: Tenant = service,
  { environment = "production", ...program }: { environment?: string } & Record<string, unknown> = {},
): Promise<Borrowing> {
  const loans = await openLoans(service, tenant, environment);
  const { id: program_id } = await addProgram(loans, program);
  const token = async () => (await exchange(service, loans.agent_key)).body.token;
  return {
    ...loans,
    token,
    apply: async () => (await addDraft(loans, program_id)).id,
    upload: async (application_id, file) => upload(service, await token(), application_id, file),
  };
}

/** Sends a document as browsers do. */
export async function upload(
  { url }: Pick<Service, "url">,
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
  { body, headers = {} }: { body: FormData | string; headers?: Record<string, string> },
): Promise<Answer> {
  const response = await fetch(`${url}/api/v1/agent/applications/${application_id}/documents`, {
    method: "POST",
    body,
    headers: { ...headers, authorization: `Bearer ${token}` },
  });
  return { status: response.status, body: await response.json(), headers: response.headers };
}

/** How many answers there were of each status. */
export function tally(answers: readonly Pick<Answer, "status">[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The id that a call answers. */
export const idOf = async (answer: Promise<Answer>): Promise<number> => (await done(answer)).id;

export const sha256 = (bytes: string | Uint8Array) =>
  new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

/** Where the files of a company's documents lie. */
export function folderOf(
  service: Service,
  of_company = service.company_id,
  { config } = service.deps,
): string {
  return join(config.data_dir, "documents", String(of_company));
}

/** The names of a company's files, of documents and of what comes in; in a bucket those of documents are objects. */
export function filesOf(service: Service, of_company = service.company_id): string[] {
  const { deps, instances } = service;
  const { documents_url } = deps.config;
  const folders = (instances.includes(deps) ? instances : [deps])
    .map((instance) => folderOf(service, of_company, instance))
    // With a bucket there is none before something comes in to an instance.
    .filter((folder) => documents_url === null || existsSync(folder));
  const files = folders
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);
  if (documents_url === null) return files;
  const objects = objectsAt(documents_url).map((name) => name.split("/"));
  const named = objects.flatMap(([company, content = ""]) =>
    company === String(of_company) ? [content] : [],
  );
  return [...files, ...named];
}
