import { describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import * as fc from "fast-check";
import { AppError } from "../../../src/core/errors.ts";
import { fromMinorUnits, toMinorUnits } from "../../../src/core/money.ts";
import { decode } from "../../../src/core/validate.ts";
import { fillBlanks } from "../../../src/emandate/customers/rules.ts";
import { Amount } from "../../../src/emandate/products/model.ts";

describe("amounts", () => {
  /** Sen of a text, counted by hand; null where it is no amount. */
  function counted(text: string): bigint | null {
    const [, ringgit, sen = ""] = /^([0-9]{1,7})(?:\.([0-9]{1,2}))?$/.exec(text) ?? [];
    return ringgit === undefined ? null : BigInt(ringgit) * 100n + BigInt(sen.padEnd(2, "0"));
  }

  const digits = fc.string({ unit: fc.constantFrom("0", "1", "2", "3", "9"), maxLength: 8 });
  const near = fc
    .tuple(digits, fc.constantFrom("", ".", ","), digits)
    .map(([whole, point, part]) => whole + point + part);

  test("what is taken is an amount from 1.00 to 30000.00, and is answered with two digits", () => {
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (text) => {
        const sen = counted(text);
        const is_amount = sen !== null && sen >= 100n && sen <= 3_000_000n;
        expect([text, Value.Check(Amount, text)]).toEqual([text, is_amount]);
        if (is_amount) expect(toMinorUnits(decode(Amount, text))).toBe(Number(sen));
      }),
      { numRuns: 500 },
    );
  });

  test("what was answered is taken, and stays what it is", () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 3_000_000 }), (sen) => {
        expect(decode(Amount, fromMinorUnits(sen))).toBe(fromMinorUnits(sen));
      }),
    );
  });
});

describe("what is learned of a customer", () => {
  const phone = fc.constantFrom("+60123456789", "+60198765432");
  const ic_number = fc.constantFrom("900131145678", "850505105555");
  const known = fc.record({ phone: fc.option(phone), ic_number: fc.option(ic_number) });
  const given = fc
    .record({ phone: fc.option(phone), ic_number: fc.option(ic_number) })
    .map(({ phone: p, ic_number: ic }) => ({
      name: "A",
      email: "a@example.com",
      ...(p === null ? {} : { phone: p }),
      ...(ic === null ? {} : { ic_number: ic }),
    }));

  test("nothing that is known changes, blanks are filled, and another IC number is refused", () => {
    fc.assert(
      fc.property(known, given, (before, news) => {
        const is_other =
          before.ic_number !== null && "ic_number" in news && news.ic_number !== before.ic_number;
        if (is_other) {
          expect(() => fillBlanks(before, news, "/customer_ic_number")).toThrow(AppError);
          return;
        }
        const after = { ...before, ...fillBlanks(before, news, "/customer_ic_number") };
        expect(after).toEqual({
          phone: before.phone ?? news.phone ?? null,
          ic_number: before.ic_number ?? news.ic_number ?? null,
        });
        expect(fillBlanks(after, news, "/customer_ic_number")).toEqual({});
      }),
    );
  });
});
