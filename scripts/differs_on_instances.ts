/**
 * Tests that fail on two instances for a reason of their own: they look into one instance, or change it, while their
 * requests go to both; or they count on numbers of events that are DuckDB's.
 */
export const DIFFERS: readonly { file: string; test: string; why: string }[] = [
  {
    file: "test/billing/records/usage_numbers.test.ts",
    test: "a run writes nothing where the bills have counted events that the usage store does not have",
    why: "sets a number that is high in DuckDB",
  },
  {
    file: "test/billing/records/usage_numbers.test.ts",
    test: "a company is billed whatever the bills of others have counted: their events may be numbered apart",
    why: "sets a number that is high in DuckDB",
  },
  {
    file: "test/billing/records/statements.test.ts",
    test: "verifying a record > holds of two runs at once, whichever asked first: neither takes back what the other knows",
    why: "holds one instance's question up",
  },
  {
    file: "test/billing/runs/runs_failures.test.ts",
    test: "a run stops between batches when the process is about to end: what it billed is whole",
    why: "stops the background of one instance",
  },
  {
    file: "test/billing/billing_model_changes/failures.test.ts",
    test: "a change that fails stays scheduled with its error, keeps later ones waiting, and is tried again",
    why: "takes the usage away from one instance",
  },
];
