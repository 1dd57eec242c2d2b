import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  brokenRules,
  missingOf,
  readOffer,
  type Submission,
} from "../../../src/loans/applications/eligibility.ts";
import { DOCUMENT_TYPES, type LoanProgram } from "../../../src/loans/programs/model.ts";
import { propertyCases } from "../../support/properties.ts";
import { PROGRAM } from "./fixtures.ts";

const DAY = Temporal.PlainDate.from("2026-11-21");
const NOW = Temporal.Instant.from("2026-11-21T10:00:00Z");

/** Ringgit and sen of an amount in sen. */
const money = (sen: number) => `${Math.trunc(sen / 100)}.${String(sen % 100).padStart(2, "0")}`;

/** Two numbers, the smaller first. */
const range = (min: number, max: number) =>
  fc
    .tuple(fc.integer({ min, max }), fc.integer({ min, max }))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
const some_sen = fc.integer({ min: 1, max: 2_000 });
const some_tenor = fc.integer({ min: 1, max: 20 });
const some_age = fc.integer({ min: 0, max: 60 });
const some_codes = fc.uniqueArray(fc.constantFrom("a", "b", "c"));
const some_types = fc.uniqueArray(fc.constantFrom(...DOCUMENT_TYPES), { maxLength: 5 });

/** A submission, and the facts that it was made from. */
const some_case = fc
  .record({
    amounts: range(1, 2_000),
    tenors: range(1, 20),
    ages: fc.option(range(0, 60)),
    min_income: fc.option(some_sen),
    amount: some_sen,
    tenor: some_tenor,
    age: some_age,
    income: fc.option(some_sen),
    required_documents: some_types,
    required_consents: some_codes,
    asked: some_types,
    documents: some_types,
    consents: some_codes,
  })
  .map((facts) => ({ facts, submission: submissionOf(facts) }));

interface Facts {
  amounts: number[];
  tenors: number[];
  ages: number[] | null;
  min_income: number | null;
  amount: number;
  tenor: number;
  age: number;
  income: number | null;
  required_documents: (typeof DOCUMENT_TYPES)[number][];
  required_consents: string[];
  asked: (typeof DOCUMENT_TYPES)[number][];
  documents: (typeof DOCUMENT_TYPES)[number][];
  consents: string[];
}

function programOf({ amounts, tenors, ages, min_income, ...facts }: Facts): LoanProgram {
  const { required_documents, required_consents } = facts;
  const [min_age = 0, max_age = 0] = ages ?? [];
  return {
    ...PROGRAM,
    id: 1,
    company_id: 1,
    environment: "production",
    code: "P",
    description: null,
    borrower_type: "individual",
    rate_type: "flat",
    min_amount: money(amounts[0] ?? 0),
    max_amount: money(amounts[1] ?? 0),
    min_tenor_months: tenors[0] ?? 0,
    max_tenor_months: tenors[1] ?? 0,
    eligibility: {
      ...(ages ? { min_age, max_age } : {}),
      ...(min_income === null ? {} : { min_monthly_income: money(min_income) }),
    },
    required_documents,
    required_consents,
    form_config_id: null,
    status: "active",
    created_at: "",
    updated_at: "",
  };
}

function submissionOf(facts: Facts): Submission {
  const { age, income, asked, documents, consents } = facts;
  const birthday = DAY.subtract({ years: age });
  const born = birthday.toString().replaceAll("-", "").slice(2);
  return {
    application: {
      borrower: {
        type: "individual",
        name: "Aminah",
        ic_number: `${born}145678`,
        registration_number: null,
        email: null,
        phone: null,
        monthly_income: income === null ? null : money(income),
        employment_type: null,
      },
      answers: {},
      missing: asked.map((code) => ({ kind: "document", code, note: null })),
    },
    program: programOf(facts),
    form: undefined,
    documents: new Set<string>(documents),
    consents: new Set(consents),
  };
}

const within = (value: number, [low = 0, high = 0]: number[]) => value >= low && value <= high;

describe("a submission", () => {
  test("breaks exactly the rules that its facts break", () => {
    fc.assert(
      fc.property(some_case, ({ facts, submission }) => {
        const { amounts, tenors, ages, min_income, amount, tenor, age, income } = facts;
        const expected = [
          ...(within(amount, amounts) ? [] : ["/amount"]),
          ...(within(tenor, tenors) ? [] : ["/tenor_months"]),
          ...(ages === null || within(age, ages) ? [] : ["/borrower/ic_number"]),
          ...(min_income === null || income === null || income >= min_income
            ? []
            : ["/borrower/monthly_income"]),
        ];
        const { borrower } = submission.application;
        const application = { borrower, amount: money(amount), tenor_months: tenor };
        const broken = brokenRules(application, submission.program, DAY);
        expect(broken.map(({ path }) => path)).toEqual(expected);
      }),
      propertyCases(500),
    );
  });

  test("lacks exactly what is needed and not there, each thing once", () => {
    fc.assert(
      fc.property(some_case, ({ facts, submission }) => {
        const { required_documents, required_consents, asked, documents, consents, income } = facts;
        const needs = [...required_documents, ...asked].filter((type) => !documents.includes(type));
        const expected = [
          ...new Set(needs.map((code) => `document ${code}`)),
          ...required_consents.filter((code) => !consents.includes(code)).map((code) => `consent ${code}`),
          ...(facts.min_income !== null && income === null ? ["field borrower.monthly_income"] : []),
        ];
        expect(missingOf(submission).map(({ kind, code }) => `${kind} ${code}`)).toEqual(expected);
      }),
      propertyCases(500),
    );
  });
});

test("an offer is made exactly when it is inside of the program", () => {
  fc.assert(
    fc.property(
      some_case,
      some_sen,
      some_tenor,
      fc.integer({ min: 0, max: 250 }),
      ({ facts, submission }, amount, tenor_months, tenths) => {
        const program = submission.program;
        const annual_rate = (tenths / 10).toFixed(1);
        const is_inside =
          within(amount, facts.amounts) && within(tenor_months, facts.tenors) && within(tenths, [45, 180]);
        const offer = () =>
          readOffer(
            { amount: money(amount), tenor_months, annual_rate },
            submission.application.borrower,
            program,
            NOW,
          );
        if (!is_inside) {
          expect(offer).toThrow(/must be from/);
          return;
        }
        expect(offer()).toMatchObject({
          amount: money(amount),
          tenor_months,
          annual_rate,
          expires_at: "2026-12-21T10:00:00.000Z",
        });
      },
    ),
    propertyCases(300),
  );
});
