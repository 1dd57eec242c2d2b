import type { Prompt } from "../mcp/prompt.ts";

const record_id = { name: "record_id", description: "The bill's id", required: true };

/** The questions that people ask about bills. */
export const billingPrompts: readonly Prompt[] = [
  {
    name: "explain_bill",
    title: "Explain this bill",
    description: "What a bill is made of, and where its usage came from, in words for the customer.",
    tools: ["billing_find_records", "billing_find_subscriptions", "billing_search_usage"],
    arguments: [record_id],
    text: ({ record_id: id }) => `Explain bill ${id} so that the customer understands it.
1. billing_find_records with record_id ${id}: its lines, its period, and its subscription.
2. billing_find_subscriptions with that subscription: the price, with its fee, free units, minimum and tiers.
3. For lines of usage, billing_search_usage with subscription_ids, start_time and end_time of the period, and group_by day; then by the metadata key that tells most.
4. billing_find_records with record_id ${id} and verify true: whether the stored usage still comes to this bill.
Then say in a few sentences: what was charged and why, line by line with the arithmetic; the days or the keys that most of it came from; what was different from the bill before, if there is one; and whether the bill was verified. If it is an adjustment, say which bill it corrects.`,
  },
  {
    name: "close_month",
    title: "Close the month",
    description: "What is still to do before a month's bills are done, and then the billing run.",
    tools: ["billing_find_records", "billing_run", "billing_find_subscriptions", "billing_search_usage"],
    arguments: [{ name: "month", description: "Such as 2026-03; the last one by default", required: false }],
    text: ({ month }) => `Close ${month === "" ? "the last month" : `the month ${month}`} with me.
1. billing_find_records with kind run: did the last billing runs end without errors? Read one with errors by its run_id.
2. billing_run with dry_run${month === "" ? "" : ` and period ${month}`}: what would still be billed, and adjusted?
3. billing_search_usage with group_by day for the month: are there days without usage that should have some?
4. billing_find_subscriptions with status active: is there one without a bill of the month? billing_find_records with its subscription_id tells.
Tell me what you found: bills that are missing, errors, days that look wrong, and the sums by currency. Run the billing only after I have said yes; then say what was written.`,
  },
  {
    name: "who_grows_and_shrinks",
    title: "Who grows and who shrinks",
    description: "Which clients use more than in the month before, which less, and what drives it.",
    tools: ["billing_search_usage", "billing_find_clients", "billing_get_subscription_overview"],
    arguments: [],
    text: () => `Which clients grow, and which shrink?
1. billing_search_usage with group_by ["client", "month"] and relative last_90d: the units of each client and month. The first and the running month are not whole: compare months that are, and the running one by its days so far.
2. For the three that grew most and the three that shrank most, in units and in percent: billing_search_usage with client_ids and group_by of day, product or a metadata key, to see since when and what drives it.
3. billing_get_subscription_overview of the subscriptions behind: what that means for the running bill.
Answer with a short table (client, month before, last month, change) and one sentence on each that matters. Say where a client stopped altogether.`,
  },
  {
    name: "explain_my_bill",
    title: "Explain this bill",
    description: "What one of my bills is made of, and where its usage came from.",
    tools: ["billing_find_my_records", "billing_find_my_subscriptions", "billing_search_my_usage"],
    arguments: [record_id],
    text: ({ record_id: id }) => `Explain my bill ${id}.
1. billing_find_my_records with record_id ${id}: its lines, its period, and its subscription.
2. billing_find_my_subscriptions with that subscription: the price.
3. For lines of usage, billing_search_my_usage with subscription_ids, start_time and end_time of the period, and group_by day; then by the metadata key that tells most.
Then say in a few sentences what was charged and why, line by line with the arithmetic, which days or keys most of it came from, and what was different from the bill before.`,
  },
];
