import { and, eq, isNull } from "drizzle-orm";
import type { LoanScope } from "../../core/access.ts";
import type { Reads } from "../../store/store.ts";

/**
 * The ids of the applications in a scope, to narrow down what belongs to them: one company's in one environment;
 * for agents, their own. None that were deleted.
 */
export function applicationsIn(q: Reads, { company_id, environment, agent_key_id }: LoanScope) {
  const { loan_applications: t } = q.tables;
  return q
    .select({ id: t.id })
    .from(t)
    .where(
      and(
        eq(t.company_id, company_id),
        eq(t.environment, environment),
        isNull(t.deleted_at),
        agent_key_id === undefined ? undefined : eq(t.agent_key_id, agent_key_id),
      ),
    );
}
