import type { Company } from "../tenancy/companies/model.ts";
import { wrongWords } from "../core/exit_codes.ts";
import { operatorHandler } from "../server/operator/handler.ts";
import { ACTIONS } from "./actions.ts";
import { type Arguments, requiredId, withDeps } from "./command.ts";
import { listCompaniesAction } from "./company.ts";
import { performAt, untilStarted } from "./perform.ts";
import { SILENT } from "./progress.ts";
import { findServer, refusalOf, type ServerConnection } from "./server_connection.ts";

/** Where a company's usage is asked for: a server, and `/api/v1/usage` or `/operator/companies/1/usage` there. */
export interface UsagePlace {
  server: ServerConnection;
  base: string;
  /** For titles: `company 1 (Acme)`, or the server. */
  whom: string;
}

/** As the operator for a company, or as the user or API key of SERVER_TOKEN for its own. Errors: wrong words. */
export async function usagePlaceAt(server: ServerConnection, words: Arguments): Promise<UsagePlace> {
  if (!server.is_operator) {
    if (words.values.company !== undefined)
      throw wrongWords("--company is the operator's: SERVER_TOKEN has a company of its own");
    return { server, base: "/api/v1/usage", whom: server.name };
  }
  const { companies } = await performAt(server, listCompaniesAction, {}, SILENT);
  const company = chooseCompany(companies, words);
  return { server, base: `/operator/companies/${company.id}/usage`, whom: whomOf(company) };
}

/** Works with a company's usage: through a server, else in this process, which then answers as one would. */
export async function withUsagePlace(
  words: Arguments,
  work: (place: UsagePlace) => Promise<void>,
): Promise<void> {
  const running = await findServer(words);
  if (running !== null) return work(await usagePlaceAt(running, words));
  try {
    await withDeps(async (deps) => {
      const { buildApp } = await import("../server/http_app.ts");
      const answer = operatorHandler({ deps, actions: ACTIONS, api: buildApp(deps) });
      const send = (path: string, init?: RequestInit) => answer(new Request(`http://localhost${path}`, init));
      await work(await usagePlaceAt({ name: "this process", is_operator: true, send }, words));
    });
  } catch (error) {
    await work(await usagePlaceAt(await untilStarted(words, error), words));
  }
}

/** Sends JSON. Errors: throws what the server refuses. */
export async function postJson({ server, base }: UsagePlace, path: string, body: object): Promise<Response> {
  const answer = await server.send(`${base}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw await refusalOf(answer);
  return answer;
}

export const whomOf = ({ id, name }: Pick<Company, "id" | "name">) => `company ${id} (${name})`;

/** The company that the words name, or the only one. Errors: wrong words. */
export function chooseCompany<C extends { id: number }>(companies: readonly C[], words: Arguments): C {
  if (words.values.company !== undefined) {
    const id = requiredId(words, "company");
    const named = companies.find((company) => company.id === id);
    if (named) return named;
    throw wrongWords(`--company ${id} is no company`);
  }
  const [only] = companies;
  if (only !== undefined && companies.length === 1) return only;
  throw wrongWords(`--company is required: there are ${companies.length} companies`);
}
