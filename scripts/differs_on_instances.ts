/**
 * Tests that fail on two instances for a reason of their own: they look into one instance, or change it, while their
 * requests go to both; or they count on what a machine with DuckDB does. Sorted by file.
 */
export const DIFFERS: readonly { file: string; test: string; why: string }[] = [
  {
    file: "test/audit/access.test.ts",
    test: "paths of another level and foreign ids are refused in writing, some a minute",
    why: "each instance writes so many refusals a minute",
  },
  {
    file: "test/billing/billing_model_changes/failures.test.ts",
    test: "a change that fails stays scheduled with its error, keeps later ones waiting, and is tried again",
    why: "takes the usage away from one instance",
  },
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
    file: "test/entitlements/totals/totals.test.ts",
    test: "of more groups than are counted those that came too late are not certain, and the others exact",
    why: "which groups are counted goes by the order of their events, which is DuckDB's",
  },
  {
    file: "test/http/guards.test.ts",
    test: "usage and documents are refused before anything of them is written, on any database",
    why: "events are in ClickHouse, not on the disk that is almost full",
  },
  {
    file: "test/http/guards.test.ts",
    test: "a clock that is set by three days holds what writes money until it is accepted and steady",
    why: "instances go by the database's clock, which stays",
  },
  {
    file: "test/loans/documents/bucket.test.ts",
    test: "the job > moves what DATA_DIR has from before into the bucket, once",
    why: "puts a file into one instance's DATA_DIR, which the other can't read",
  },
  {
    file: "test/loans/documents/documents.test.ts",
    test: "one document of a type is current > of many at once too, and equal ones are one file",
    why: "equal documents are one file, and several objects",
  },
  {
    file: "test/loans/documents/stored_files.test.ts",
    test: "a document with a flipped bit is a 503, not another document",
    why: "changes a file in DATA_DIR",
  },
  {
    file: "test/loans/documents/stored_files.test.ts",
    test: "retention > lost files go when they are an hour old; what documents have stays",
    why: "looks for a document's file in DATA_DIR",
  },
  {
    file: "test/loans/documents/stored_files.test.ts",
    test: "what doctor looks at: files that are gone, of another size or with other bytes",
    why: "changes files in DATA_DIR",
  },
  {
    file: "test/mcp/endpoint.test.ts",
    test: "acceptance 5: the transport > the service's own origin, whole with its port, may call, and so may programs, which send none",
    why: "with PUBLIC_URL only that origin may",
  },
  {
    file: "test/usage/export/export.test.ts",
    test: "an export that is long > is a 429 when too many of the company wait already",
    why: "each instance has places of its own for exports",
  },
  {
    file: "test/usage/import/blocks.test.ts",
    test: "what is refused > more blocks of a company at once than it may send",
    why: "each instance has places of its own for blocks",
  },
  {
    file: "test/usage/import/blocks.test.ts",
    test: "what is refused > a second block of a company while half of the places are taken: others have theirs",
    why: "each instance has places of its own for blocks",
  },
  {
    file: "test/usage/search/fair_search.test.ts",
    test: "a company that floods the search is refused itself; others are served, and /ready answers",
    why: "both instances wait for the engine of the tests, which runs one statement at a time",
  },
  {
    file: "test/usage/uploads/uploads.test.ts",
    test: "an upload that is deleted leaves the disk",
    why: "deletes a file that another instance has, which goes at night",
  },
];
