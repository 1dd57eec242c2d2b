import { Type } from "@sinclair/typebox";
import { Company } from "../company.ts";
import type { Manifest } from "../goals/deployment.ts";
import { inParallel } from "../in_parallel.ts";
import type { Service } from "../service.ts";
import { totalsSearch } from "../queries.ts";

const Run = Type.Object({
  data: Type.Object({
    status: Type.String(),
    counts: Type.Object({ failed: Type.Integer() }),
  }),
});
const Bills = Type.Object({
  meta: Type.Object({ total: Type.Integer(), sums: Type.Array(Type.Unknown()) }),
});

const BY_SUBSCRIPTION = totalsSearch("usage by subscription", () => ({ group_by: "subscription" }));

/** What a company's bills and events come to: equal wherever they are. */
export interface Holdings {
  company_id: number;
  bills: number;
  amounts: unknown;
  usage: readonly (string | number)[];
  events: number;
}

/** Companies of a deployment, signed in. */
export function openCompanies(service: Service, companies: Manifest["companies"]): Promise<Company[]> {
  return inParallel(companies.length, async (i) => {
    const { id, email, subscriptions } = companies[i] ?? { id: 0, email: "", subscriptions: [] };
    const company = new Company(service, id, email);
    company.subscriptions = subscriptions;
    await company.signIn();
    return company;
  });
}

/** Bills what is due of every company. Errors: throws where a period could not be billed. */
export async function billAll(companies: readonly Company[]): Promise<void> {
  for (const company of companies) {
    const { data } = await company.fetchJson(Run, "POST", "/billing-runs", {});
    if (data.status !== "finished" || data.counts.failed > 0)
      throw new Error(`Cannot go on: the run of company ${company.id} came to ${JSON.stringify(data)}`);
  }
}

export async function holdingsOf(companies: readonly Company[]): Promise<Holdings[]> {
  const found: Holdings[] = [];
  for (const company of companies) {
    const bills = await company.fetchJson(Bills, "GET", "/billing-records?limit=1&sums=true");
    const body = { group_by: "subscription", aggregate: true };
    const answer: unknown = await (await company.fetch("POST", "/usage/search", body)).json();
    const usage = BY_SUBSCRIPTION.fromResponse(answer);
    const events = usage.reduce<number>((sum, one, i) => (i % 3 === 2 ? sum + Number(one) : sum), 0);
    found.push({ company_id: company.id, bills: bills.meta.total, amounts: bills.meta.sums, usage, events });
  }
  return found;
}

/** Errors: throws where a company has other bills or events than before. */
export function compareHoldings(before: readonly Holdings[], after: readonly Holdings[]): void {
  for (const [i, one] of before.entries())
    if (!Bun.deepEquals(one, after[i]))
      throw new Error(
        `Cannot go on: company ${one.company_id} had ${JSON.stringify(one)}, has ${JSON.stringify(after[i])}`,
      );
}
