import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { FIELD_TYPES, type FormStructure } from "../../src/forms/model.ts";
import { areAnswers, checkAnswers, unanswered } from "../../src/forms/rules.ts";
import { propertyCases } from "../support/properties.ts";

/** One field of each type, named by it; `required` makes all of them so. */
function everyField(required: boolean): FormStructure {
  return {
    title: "Everything",
    fields: FIELD_TYPES.map((type) => ({
      name: type,
      label: type,
      type,
      required,
      ...(type === "select" ? { options: ["Yes", "No"] } : {}),
    })),
  };
}
const FORM = everyField(false);

const GOOD = {
  text: "A text",
  number: -12.5,
  email: "a@b",
  tel: "+60 12-345 6789",
  select: "Yes",
  textarea: "Two\nlines",
  date: "2024-02-29",
  checkbox: true,
};

describe("answers", () => {
  test("of every type fit", () => {
    expect(checkAnswers(FORM, GOOD)).toEqual([]);
    expect(checkAnswers(FORM, {})).toEqual([]);
  });

  test.each([
    ["text", 7],
    ["text", null],
    ["text", ["a"]],
    ["text", "a".repeat(1_001)],
    ["textarea", "a".repeat(10_001)],
    ["textarea", true],
    ["number", "12"],
    ["number", ""],
    ["number", null],
    ["email", "nobody"],
    ["email", "a b@c"],
    ["email", `${"a".repeat(250)}@b.my`],
    ["tel", "12"],
    ["tel", "call me"],
    ["tel", "0".repeat(31)],
    ["tel", "+60+123"],
    ["select", "Maybe"],
    ["select", "yes"],
    ["select", 0],
    ["date", "2023-02-29"],
    ["date", "2024-2-9"],
    ["date", "20240209"],
    ["date", "2024-02-09T00:00"],
    ["date", "-002024-02-09"],
    ["checkbox", "on"],
    ["checkbox", 1],
    ["checkbox", ""],
  ] as const)("%s can't be %j", (type, answer) => {
    const problems = checkAnswers(FORM, { ...GOOD, [type]: answer });
    expect(problems).toEqual([{ path: `/${type}`, message: expect.stringMatching(/^must be /) }]);
    expect(areAnswers(FORM, { [type]: answer })).toBe(false);
  });

  test.each([
    ["text", "a".repeat(1_000)],
    ["text", "😀".repeat(1_000)],
    ["textarea", "a".repeat(10_000)],
    ["number", 0],
    ["number", 1e300],
    ["tel", "012-345 6789"],
    ["tel", "(03) 7956.1234"],
    ["select", "No"],
    ["date", "0001-01-01"],
    ["checkbox", false],
    // An empty text is no answer.
    ["text", ""],
    ["email", ""],
    ["tel", ""],
    ["select", ""],
    ["date", ""],
  ] as const)("%s can be %j", (type, answer) => {
    expect(checkAnswers(FORM, { [type]: answer })).toEqual([]);
  });

  test.each([[null], [undefined], ["text"], [7], [[]], [["text"]], [true]] as const)(
    "can't be %j as a whole",
    (answers) => {
      expect(checkAnswers(FORM, answers)).toEqual([{ path: "", message: expect.any(String) }]);
    },
  );

  test("to what the form does not ask are refused, also where an object has something by that name", () => {
    const names = ["other", "toString", "constructor", "hasOwnProperty", "a/b", "a~b", ""];
    for (const name of names) {
      expect(checkAnswers(FORM, { [name]: "x" }), name).toEqual([
        {
          path: `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`,
          message: "is not a field of the form",
        },
      ]);
    }
    expect(checkAnswers(FORM, JSON.parse('{"__proto__": {"text": 1}}'))).toEqual([
      { path: "/__proto__", message: "is not a field of the form" },
    ]);
  });

  test("a field may be named like what every object has", () => {
    const form: FormStructure = {
      title: "Odd",
      fields: ["__proto__", "constructor", "toString"].map((name) => ({
        name,
        label: name,
        type: "text",
        required: true,
      })),
    };
    expect(unanswered(form, {})).toEqual(["__proto__", "constructor", "toString"]);
    const answers = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c"}');
    expect([checkAnswers(form, answers), unanswered(form, answers)]).toEqual([[], []]);
  });

  test("are at most 64 KB, and of many broken ones the first hundred are named", () => {
    const fields = Array.from({ length: 200 }, (_, index) => ({
      name: `f${index}`,
      label: "F",
      type: "textarea" as const,
    }));
    const long = Object.fromEntries(fields.map(({ name }) => [name, "a".repeat(400)]));
    expect(checkAnswers({ title: "T", fields }, long)).toEqual([
      { path: "", message: expect.stringMatching(/^must be at most 65536 bytes of JSON, it has \d+$/) },
    ]);
    const wrong = Object.fromEntries(fields.map(({ name }) => [name, 1]));
    expect(checkAnswers({ title: "T", fields }, wrong)).toHaveLength(100);
  });
});

describe("required fields", () => {
  const required = everyField(true);

  test("are answered, or named in the form's order", () => {
    expect(unanswered(required, GOOD)).toEqual([]);
    expect(unanswered(required, {})).toEqual([...FIELD_TYPES]);
    expect(unanswered(FORM, {})).toEqual([]);
  });

  test("a blank is no answer, an empty box neither, a zero is one", () => {
    expect(unanswered(required, { ...GOOD, text: " ", textarea: "\n", email: "", checkbox: false })).toEqual([
      "text",
      "email",
      "textarea",
      "checkbox",
    ]);
    expect(unanswered(required, { ...GOOD, number: 0 })).toEqual([]);
  });
});

test("whatever comes as answers, it is checked without throwing, and good ones only hold what was asked", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...FIELD_TYPES), fc.jsonValue())),
      (answers) => {
        const problems = checkAnswers(FORM, answers);
        if (!areAnswers(FORM, answers)) {
          expect(problems.length).toBeGreaterThan(0);
          return;
        }
        expect(problems).toEqual([]);
        for (const name of Object.keys(answers)) expect<string[]>([...FIELD_TYPES]).toContain(name);
        expect(unanswered(everyField(true), answers).length).toBeLessThanOrEqual(FIELD_TYPES.length);
      },
    ),
    propertyCases(500),
  );
});
