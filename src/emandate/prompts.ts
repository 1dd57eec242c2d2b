import type { Prompt } from "../mcp/prompt.ts";

/** The question that people ask about debits. */
export const debitPrompts: readonly Prompt[] = [
  {
    name: "why_debit_failed",
    title: "Why did this debit fail?",
    description: "What the bank said of a debit, whether it is tried again, and what to do.",
    tools: ["emandate_find_payments", "emandate_find_mandates", "emandate_find_flags", "emandate_get_setup"],
    arguments: [{ name: "payment_id", description: "The debit's id", required: true }],
    text: ({ payment_id: id }) => `Why did debit ${id} fail, and what happens now?
1. emandate_find_payments with payment_id ${id}: its attempts, what the bank answered (response_message) and next_attempt_at.
2. emandate_find_mandates with its mandate_id: is the mandate still active, and do its limits allow the amount? How did the debits before go?
3. emandate_find_flags with that mandate_id: does something wait for a person?
4. emandate_get_setup: how failed debits are retried, and whether the customer's bank is online.
Tell me in a few sentences the cause in plain words, whether it is tried again and when, and what I or the customer should do. Debit nothing unless I ask for it.`,
  },
];
