import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { LIMITS } from "../../src/forms/limits.ts";
import { FIELD_TYPES } from "../../src/forms/model.ts";
import { propertyCases } from "../support/properties.ts";
import { checkForm, problemText } from "../../src/forms/rules.ts";
import type { Json } from "../support/harness.ts";

const field = (given: Json = {}) => ({ name: "amount", label: "Amount", type: "number", ...given });
const form = (...fields: Json[]) => ({ title: "Loan", fields });
const select = (options: Json) => form(field({ type: "select", options }));
const texts = (config: unknown) => checkForm(config).map(problemText);

describe("checkForm() takes", () => {
  test.each([...FIELD_TYPES])("a field of type %s", (type) => {
    const options = type === "select" ? { options: ["One", "Two"] } : {};
    expect(texts(form(field({ type, ...options, required: true, placeholder: "" })))).toEqual([]);
  });

  test.each(["__proto__", "constructor", "toString", "_", "a.b-c_9", "x".repeat(100)])(
    "the field name %s",
    (name) => {
      expect(texts(form(field({ name }), field({ name: "other" })))).toEqual([]);
    },
  );

  test("as much as the limits allow", () => {
    const fields = Array.from({ length: LIMITS.form_fields }, (_, i) => field({ name: `f${i}` }));
    expect(texts({ title: "x".repeat(200), description: "d".repeat(1_000), fields })).toEqual([]);
    const options = Array.from({ length: LIMITS.form_options }, (_, i) => `${i}`);
    expect(texts(select(options))).toEqual([]);
    expect(texts(select(["😀".repeat(200)]))).toEqual([]);
  });
});

describe("checkForm() names", () => {
  test.each<[string, unknown, string[]]>([
    ["no config", undefined, ["/config: is required"]],
    ["null", null, ["/config: must be an object"]],
    ["a list", [], ["/config: must be an object"]],
    ["a text", "{}", ["/config: must be an object"]],
    ["an empty object", {}, ["/title: is required", "/fields: is required"]],
    ["no fields", form(), ["/fields: must have 1 to 200 entries"]],
    ["fields that are no list", { title: "x", fields: { 0: field() } }, ["/fields: must be an array"]],
    ["a blank title", { ...form(field()), title: " " }, ["/title: must be 1 to 200 characters, not blank"]],
    [
      "a long title",
      { ...form(field()), title: "x".repeat(201) },
      ["/title: must be 1 to 200 characters, not blank"],
    ],
    [
      "a description that is null",
      { ...form(field()), description: null },
      ["/description: must be a string"],
    ],
    [
      "an unknown field",
      { ...form(field()), pages: 1 },
      ["/pages: is not a known field; known are title, description, fields"],
    ],
    ["a field that is none", form("x"), ["/fields/0: must be an object"]],
    [
      "an empty field",
      form({}),
      ["/fields/0/name: is required", "/fields/0/label: is required", "/fields/0/type: is required"],
    ],
    [
      "an unknown type",
      form(field({ type: "file" })),
      [`/fields/0/type: must be one of ${FIELD_TYPES.join(", ")}`],
    ],
    [
      "required that is no boolean",
      form(field({ required: "yes" })),
      ["/fields/0/required: must be a boolean"],
    ],
    [
      "a select without options",
      form(field(), field({ name: "b", type: "select" })),
      ["/fields/1/options: a select needs at least one option"],
    ],
    ["a select with an empty list", select([]), []],
    ["options that are no list", select("a"), ["/fields/0/options: must be an array"]],
    [
      "options that are no texts",
      select(["a", 2, " "]),
      [
        "/fields/0/options/1: must be a string",
        "/fields/0/options/2: must be 1 to 200 characters, not blank",
      ],
    ],
    [
      "options that repeat",
      select(["a", "b", "a"]),
      ["/fields/0/options/2: must be unique: option 0 is the same"],
    ],
    [
      "options elsewhere",
      form(field({ options: ["a"] })),
      ["/fields/0/options: only a select has options: leave them out"],
    ],
    ["empty options elsewhere", form(field({ options: [] })), []],
    [
      "too many options",
      select(Array.from({ length: 501 }, (_, i) => `${i}`)),
      ["/fields/0/options: must have 0 to 500 entries"],
    ],
    [
      "names that repeat",
      form(field(), field({ name: "b" }), field()),
      ["/fields/2/name: must be unique: /fields/0 has the same name"],
    ],
    [
      "__proto__ twice",
      form(field({ name: "__proto__" }), field({ name: "__proto__" })),
      ["/fields/1/name: must be unique: /fields/0 has the same name"],
    ],
    [
      "an own field __proto__",
      JSON.parse(
        '{"title":"x","fields":[{"name":"a","label":"A","type":"text","__proto__":{"options":["a"]}}]}',
      ),
      [
        "/fields/0/__proto__: is not a known field; known are name, label, type, required, placeholder, options",
      ],
    ],
  ])("%s", (_, config, expected) => {
    expect(texts(config)).toEqual(expected);
  });

  test.each(["", "9a", "-a", ".a", "a b", "é", "a/b", "a\n", "x".repeat(101)])(
    "the field name %j",
    (name) => {
      expect(checkForm(form(field({ name })))).toMatchObject([{ path: "/fields/0/name" }]);
    },
  );

  test("every problem of several, of shape and beyond", () => {
    const config = form(field({ required: 1 }), field({ type: "select" }), field({ options: ["x"] }));
    expect(
      checkForm(config)
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual([
      "/fields/0/required",
      "/fields/1/name",
      "/fields/1/options",
      "/fields/2/name",
      "/fields/2/options",
    ]);
  });

  test("what is too large, and does not look into it", () => {
    const options = Array.from({ length: 500 }, (_, i) => `${i}`.padEnd(150, "x"));
    expect(texts(select(options))).toEqual([expect.stringMatching(/^\/config: must be at most 65536 bytes/)]);
  });

  test("at most a hundred problems", () => {
    const fields = Array.from({ length: 200 }, () => field({ type: "select" }));
    expect(texts(form(...fields))).toHaveLength(100);
  });
});

describe("checkForm() holds for any JSON", () => {
  /** Looks much like a form: what breaks rules is near what does not. */
  const any = fc.jsonValue({ maxDepth: 3 });
  const nearField = fc.record(
    {
      name: fc.oneof(fc.constantFrom("a", "b", "__proto__", "constructor", ""), any),
      label: fc.oneof(fc.string(), any),
      type: fc.oneof(fc.constantFrom(...FIELD_TYPES), any),
      required: fc.oneof(fc.boolean(), any),
      options: fc.oneof(fc.array(fc.constantFrom("a", "b", "", "c")), any),
    },
    { requiredKeys: [] },
  );
  const nearForm = fc.record({
    title: fc.oneof(fc.string(), any),
    fields: fc.oneof(fc.array(nearField), any),
  });

  test("it never throws, changes nothing, and what passes keeps every rule", () => {
    fc.assert(
      fc.property(fc.oneof(nearForm, any), (config) => {
        const before = JSON.stringify(config);
        const problems = checkForm(config);
        expect(JSON.stringify(config)).toBe(before);
        if (problems.length > 0) return;
        const { fields } = config as Json;
        expect(new Set(fields.map((one: Json) => one.name)).size).toBe(fields.length);
        for (const { type, options } of fields) {
          // An empty list is fine for every type.
          if (type === "select") expect(options).toBeArray();
          else expect(options ?? []).toEqual([]);
          expect(new Set(options).size).toBe((options ?? []).length);
        }
      }),
      propertyCases(500),
    );
  });
});
