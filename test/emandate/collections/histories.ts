import * as fc from "fast-check";
import { CORRECTIONS } from "./recording_scheme.ts";
import { CONNECTORS } from "../../../src/emandate/scheme/connector.ts";
import { FREQUENCIES, type Frequency } from "../../../src/emandate/schedule.ts";

// What may happen to a company's mandates: the steps of random histories.

export const mandates = fc.record({
  connector: fc.constantFrom(...CONNECTORS),
  frequency: fc.constantFrom<Frequency>(...FREQUENCIES),
  starts_in: fc.integer({ min: 0, max: 20 }),
  ends_in: fc.option(fc.integer({ min: 0, max: 120 })),
  sen: fc.integer({ min: 100, max: 12_000 }),
  max_no_debit: fc.constantFrom("1", "1", "2", "3"),
});

const CRASHES = ["none", "none", "dies before", "dies after", "times out", "store"] as const;

export const steps = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("run" as const),
      crash: fc.constantFrom(...CRASHES),
      after: fc.nat(6),
      commits: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("run twice" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("tell all" as const), replay: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("days" as const),
      days: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: -20, max: 35 })),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("tell" as const), pick: fc.nat(), replay: fc.boolean() }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("correct" as const),
      pick: fc.nat(),
      says: fc.constantFrom("paid" as const, ...CORRECTIONS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("debit" as const),
      pick: fc.nat(),
      sen: fc.integer({ min: 100, max: 12_000 }),
      due_in: fc.integer({ min: -3, max: 20 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("move" as const),
      pick: fc.nat(),
      trigger: fc.constantFrom(
        "suspend" as const,
        "resume" as const,
        "resume" as const,
        "terminate" as const,
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("amend" as const),
      pick: fc.nat(),
      frequency: fc.option(fc.constantFrom<Frequency>(...FREQUENCIES)),
      sen: fc.option(fc.integer({ min: 100, max: 12_000 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("again" as const), pick: fc.nat() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("limit" as const),
      pick: fc.nat(),
      sen: fc.integer({ min: 5_000, max: 10_000 }),
    }),
  },
);
export type Step = typeof steps extends fc.Arbitrary<infer S> ? S : never;
