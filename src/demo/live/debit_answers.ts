import { listMandates } from "../../emandate/mandates/service.ts";
import { LIMITS } from "../../emandate/limits.ts";
import { Bank } from "../bank.ts";
import { type Habit, PAYERS } from "../cast/payers.ts";
import type { Colleague } from "./colleague.ts";

/** How long a bank takes. */
const ANSWERED_AFTER_S = 20;

/** Answers the debits of the demo's cast as their banks would. Mandates that others have made wait for scenarios. */
export async function answerDebits({ call, now }: Colleague): Promise<void> {
  const habits = new Map<number, Habit>();
  const byEmail = new Map(PAYERS.map(({ email, habit }) => [email, habit]));
  for (let page = 1; ; page++) {
    const { data } = await call(listMandates, { limit: LIMITS.emandate_page_limit, page });
    for (const { id, customer } of data) {
      const habit = byEmail.get(customer.email);
      if (habit !== undefined) habits.set(id, habit);
    }
    if (data.length < LIMITS.emandate_page_limit) break;
  }
  await new Bank(habits, call).answer(now().subtract({ seconds: ANSWERED_AFTER_S }));
}
