import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { LIMITS } from "../../src/audit/limits.ts";
import { changesBetween, redact } from "../../src/audit/rules.ts";
import { isSecretName } from "../../src/core/secret_names.ts";
import { propertyCases } from "../support/properties.ts";

/** A text that stands nowhere else. */
const MARK = "c0ffee-under-wraps";

const secretWord = fc.constantFrom(
  "password",
  "secret",
  "token",
  "key",
  "Password",
  "SECRET",
  "Token",
  "KEY",
);
const around = fc.constantFrom("", "_", "-", ".", "current_", "new_", "api_", "x", "s", "_id");
/** Names such as new_password, API-KEY, xtoken_id. */
const secretName = fc.tuple(around, secretWord, around).map((parts) => parts.join(""));
/** The word itself cut by separators: `pass_word`, `to-ken`. */
const cutName = fc
  .tuple(fc.constantFrom("password", "secret", "token", "key"), fc.constantFrom("_", "-", " ", "."))
  .chain(([word, separator]) =>
    fc.integer({ min: 1, max: word.length - 1 }).map((i) => word.slice(0, i) + separator + word.slice(i)),
  );

const plainName = fc
  .string({ minLength: 1, maxLength: 12 })
  .filter((name) => !isSecretName(name) && name !== "__proto__");
const plainValue = fc.oneof(
  fc.integer(),
  fc.boolean(),
  fc.constant(null),
  fc.string({ maxLength: 40, unit: fc.constantFrom("a", "B", " ", "1", ".", "é", "/") }),
);
const plainRecord = fc.dictionary(plainName, plainValue, { maxKeys: 8, noNullPrototype: true });

/** Puts a member somewhere inside of objects and arrays. */
const wrapped = (inner: fc.Arbitrary<unknown>) =>
  fc
    .tuple(inner, fc.array(fc.option(plainName, { nil: null }), { maxLength: 6 }))
    .map(([value, path]) =>
      path.reduce<unknown>((inside, name) => (name === null ? [0, inside] : { [name]: inside }), value),
    );

describe("redact()", () => {
  test("never keeps what stands under a secret's name, however deep and however it is spelled", () => {
    const secretValue = fc.oneof(
      fc.constant(MARK),
      fc.constant([MARK]),
      fc.constant({ harmless: MARK }),
      fc.constant({ a: [{ b: MARK }] }),
    );
    const hidden = fc
      .tuple(fc.oneof(secretName, cutName), secretValue, plainRecord)
      .map(([name, value, others]): unknown => ({ ...others, [name]: value }));
    fc.assert(
      fc.property(wrapped(hidden), (input) => {
        const { value, withheld } = redact(input);
        expect(JSON.stringify(value)).not.toContain(MARK);
        expect(withheld.length).toBeGreaterThan(0);
      }),
      propertyCases(300),
    );
  });

  test("leaves a borrower's number and traces out", () => {
    const evidence = { method: "otp", captured_at: "2026-03-10T12:00:00Z" };
    const traces = { ip: "203.0.113.7", user_agent: "Mozilla/5.0" };
    expect(redact({ subject_ic_last4: "5678", evidence: { ...evidence, ...traces } })).toEqual({
      value: { evidence },
      withheld: ["/subject_ic_last4", "/evidence/ip", "/evidence/user_agent"],
    });
  });

  test("keeps plain records as they are", () => {
    fc.assert(
      fc.property(plainRecord, (input) => {
        expect(redact(input)).toEqual({ value: input, withheld: [] });
      }),
    );
  });

  test("bounds what it keeps, whatever comes, and only keeps JSON", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      maxDepth: 6,
    });
    fc.assert(
      fc.property(anything, (input) => {
        const { value, withheld } = redact({ input });
        expect(JSON.parse(JSON.stringify(value))).toEqual(value);
        expect(withheld.length).toBeLessThanOrEqual(LIMITS.audit_entry_withheld);
      }),
      { ...propertyCases(300), examples: [[-0], [{ "": [-0] }]] },
    );
    expect(redact({ input: -0 }).value).toEqual({ input: 0 });
    const huge = {
      long: "x".repeat(1_000_000),
      many: Array.from({ length: 100_000 }, (_, i) => i),
      wide: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, "y".repeat(100)])),
    };
    const { value, withheld } = redact(huge);
    expect(JSON.stringify(value).length).toBeLessThan(4 * LIMITS.audit_entry_characters);
    expect(withheld).toHaveLength(LIMITS.audit_entry_withheld);
  });

  test("does not follow a record into itself for ever", () => {
    const loop: Record<string, unknown> = { name: "x" };
    loop.again = loop;
    expect(JSON.stringify(redact(loop).value).length).toBeLessThan(1_000);
  });

  test.each([
    ["Bearer abc.def"],
    ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"],
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
    ["the token is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"],
    ["-----BEGIN PRIVATE KEY-----"],
  ])("leaves a text out that looks like a secret: %s", (text) => {
    expect(redact({ description: text })).toEqual({ value: {}, withheld: ["/description"] });
  });

  test.each([
    ["https://hooks.example.com", "https://hooks.example.com"],
    ["https://hooks.example.com/services/T00/B00/hunter2", "https://hooks.example.com/…"],
    ["https://user:hunter2@example.com/", "https://example.com/…"],
    ["http://example.com:8080/?sig=hunter2", "http://example.com:8080/…"],
    ["postgres://u:hunter2@db/x", "postgres://db/…"],
  ])("keeps of an address only its origin: %s", (url, kept) => {
    expect(redact({ url }).value).toEqual({ url: kept });
  });

  test.each([
    "private_key_pem",
    "privateKeyPem",
    "PRIVATE-KEY",
    "customer_ic_number",
    "ic_number",
    "icNumber",
  ])("what stands under %s is left out, whatever it is", (name) => {
    expect(redact({ [name]: "900131145678" })).toEqual({ value: {}, withheld: [`/${name}`] });
    expect(changesBetween({ [name]: "1" }, { [name]: "2" })).toEqual({});
  });

  test.each(["\n", "\r\n", " ", ""])(
    "PEM is left out under any name, with %j between its lines",
    (between) => {
      const pem = ["-----BEGIN CERTIFICATE-----", "MIIB", "-----END CERTIFICATE-----"].join(between);
      expect(redact({ scheme_certificate_pem: `note: ${pem}` })).toEqual({
        value: {},
        withheld: ["/scheme_certificate_pem"],
      });
    },
  );

  test("a broken address is left out whole", () => {
    expect(redact({ url: "https://:hunter2@" })).toEqual({ value: {}, withheld: ["/url"] });
  });
});

describe("changesBetween()", () => {
  test("tells the fields that differ, and no secret among them", () => {
    const before = { id: 1, name: "A", tiers: [1], password_hash: "x", gone: 1, updated_at: "1" };
    const after = { id: 1, name: "B", tiers: [1], password_hash: "y", fresh: true, updated_at: "2" };
    expect(changesBetween(before, after)).toEqual({
      name: { old: "A", new: "B" },
      fresh: { old: null, new: true },
    });
  });

  test("a record that is the same has no changes", () => {
    fc.assert(
      fc.property(plainRecord, (record) => {
        expect(changesBetween(record, structuredClone(record))).toEqual({});
      }),
    );
  });
});
