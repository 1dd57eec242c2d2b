import { describe, expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import * as fc from "fast-check";
import { AppError } from "../../../src/core/errors.ts";
import { LIMITS } from "../../../src/emandate/limits.ts";
import {
  COLLECTION_HEADER,
  type CollectionLine,
  collectionLines,
  readResults,
} from "../../../src/emandate/scheme/collection_file.ts";

const LINE: CollectionLine = {
  order_no: "DD0000000001",
  mandate_reference: "EM-20261121-000001",
  scheme_reference: null,
  customer_name: "Siti",
  bank_code: "MB2U0227",
  amount: "100.00",
  currency: "MYR",
  due_date: "2026-11-23",
  description: null,
};

describe("the file of debits", () => {
  test("is CSV by RFC 4180", () => {
    expect(COLLECTION_HEADER).toBe(
      "order_no,mandate_reference,scheme_reference,customer_name,bank_code,amount,currency,due_date,description\r\n",
    );
    const quoted = { ...LINE, customer_name: 'Siti "S", Sdn\nBhd' };
    expect(collectionLines([LINE, quoted])).toBe(
      'DD0000000001,EM-20261121-000001,,Siti,MB2U0227,100.00,MYR,2026-11-23,\r\nDD0000000001,EM-20261121-000001,,"Siti ""S"", Sdn\nBhd",MB2U0227,100.00,MYR,2026-11-23,\r\n',
    );
    expect(collectionLines([])).toBe("");
  });

  test("holds no formulas", () => {
    for (const start of ["=", "+", "-", "@", "\t", "\r"]) {
      const customer_name = `${start}HYPERLINK("https://evil.example")`;
      const [[, , , written] = []] = parse(collectionLines([{ ...LINE, customer_name }]));
      expect(written).toBe(`'${customer_name}`);
    }
  });

  test("comes back as it went out, but for formulas", () => {
    const text = fc
      .string({ unit: "grapheme" })
      .filter((value) => !/^[=+\-@\t\r\uFF0B\uFF0D\uFF1D\uFF20]/.test(value));
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 20 }), (pairs) => {
        const lines = pairs.map(([customer_name, description]) => ({ ...LINE, customer_name, description }));
        const read = parse(COLLECTION_HEADER + collectionLines(lines), {
          columns: true,
        }) as unknown as CollectionLine[];
        expect(read.map(({ customer_name, description }) => [customer_name, description])).toEqual(pairs);
      }),
      { numRuns: 200 },
    );
  });
});

const HEADER = "order_no,amount,response_code";

describe("the file of results", () => {
  test("says of each order what its code means", async () => {
    const { lines, problems } = await readResults(
      [
        `${HEADER},charged_back,scheme_txn_id,message`,
        "DD1,100.00,00,,TX1,",
        "DD2,100,51,no,,",
        "DD3,1.5,00,yes,,Disputed",
        'DD4,1.00,14,,,"Account, closed"',
        "",
        "DD5,1.00,09,,,",
        "",
      ].join("\r\n"),
    );
    expect(problems).toEqual([]);
    expect(
      lines.map(({ line, order_no, amount, result }) => [
        line,
        order_no,
        amount,
        result.status,
        result.code,
        result.message,
        result.is_retriable,
        result.scheme_txn_id,
      ]),
    ).toEqual([
      [2, "DD1", "100.00", "ok", "00", "Approved", false, "TX1"],
      [3, "DD2", "100.00", "failed", "51", "Insufficient funds", true, null],
      [4, "DD3", "1.50", "charged_back", "00", "Disputed", false, null],
      [5, "DD4", "1.00", "failed", "14", "Account, closed", false, null],
      [7, "DD5", "1.00", "pending", "09", "Transaction pending", false, null],
    ]);
    expect(lines.every(({ result }) => result.answers === null)).toBe(true);
  });

  test.each([
    ["columns in another order", "response_code,order_no,amount\n00,DD1,1.00\n"],
    ["a mark of byte order", `\uFEFF${HEADER}\nDD1,1.00,00\n`],
    ["quotes where none are needed", `"order_no","amount","response_code"\n"DD1","1.00","00"`],
    ["spaces around values", ` order_no , amount , response_code \n DD1 , 1.00 , 00 `],
  ])("may have %s", async (_, text) => {
    expect(await readResults(text)).toMatchObject({
      lines: [{ line: 2, order_no: "DD1", amount: "1.00" }],
      problems: [],
    });
  });

  test.each([
    ["no number", ",1.00,00", "order_no"],
    ["a number that is too long", `${"D".repeat(41)},1.00,00`, "order_no"],
    ["a number with a space", "D D,1.00,00", "order_no"],
    ["a number that was there", "DD0,1.00,00", "line 2"],
    ["no amount", "DD1,,00", "amount"],
    ["a negative amount", "DD1,-1.00,00", "amount"],
    ["an exponent", "DD1,1e3,00", "amount"],
    ["parts of a sen", "DD1,1.005,00", "amount"],
    ["a thousands separator", 'DD1,"1,000.00",00', "amount"],
    ["an unknown code", "DD1,1.00,ZZ", "response_code"],
    ["a code in small letters", "DD1,1.00,bc", "response_code"],
    ["a formula", "=1+1,1.00,=cmd()", "response_code"],
  ])("passes over a line with %s, and names it", async (_, row, why) => {
    const { lines, problems } = await readResults(`${HEADER}\nDD0,1.00,00\n${row}\nDD9,2.00,00\n`);
    expect(lines.map(({ order_no }) => order_no)).toEqual(["DD0", "DD9"]);
    expect(problems).toEqual([{ line: 3, message: expect.stringContaining(why) }]);
  });

  test.each([
    ["empty", "", 1],
    ["without a header", "DD1,1.00,00\n", 1],
    ["without a column", "order_no,amount\nDD1,1.00\n", 1],
    ["with a column that nobody knows", `${HEADER},note\nDD1,1.00,00,x\n`, 1],
    ["with a column twice", `${HEADER},amount\nDD1,1.00,00,1.00\n`, 1],
    ["with a value too many", `${HEADER}\nDD1,1.00,00\nDD2,1.00,00,x\n`, 3],
    ["with a value too few", `${HEADER}\nDD1,1.00,00\nDD2,1.00\n`, 3],
    ["with a quote that does not close", `${HEADER}\nDD1,1.00,00\n"DD2,1.00,00\n`, 3],
    ["with a quote inside a value", `${HEADER}\nDD1,1.00,0"0\n`, 2],
    ["with a line without end", `${HEADER}\n${"D".repeat(10_000)}\n`, 2],
    [
      "with too many lines",
      `${HEADER}\n${"\n".repeat(LIMITS.collection_file_lines)}D,1,00\n`,
      LIMITS.collection_file_lines + 2,
    ],
    ["JSON", '{"order_no": "DD1"}', 1],
  ])("is refused whole when it is %s", async (_, text, line) => {
    const refused = await readResults(text).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(AppError);
    expect(refused).toMatchObject({ kind: "invalid", details: [{ path: `/lines/${line}` }] });
  });

  test("never throws anything else, whatever it is", () => {
    const piece = fc.oneof(fc.constantFrom(",", "\n", "\r\n", '"', HEADER, "DD1", "1.00", "00"), fc.string());
    return fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        const read = await readResults(pieces.join("")).catch((error: unknown) => error);
        if (read instanceof Error) expect(read).toBeInstanceOf(AppError);
        else expect(read).toHaveProperty("lines");
      }),
      { numRuns: 500 },
    );
  });

  test("of many lines is read to the last, and nobody waits for it meanwhile", async () => {
    const count = 60_000;
    const rows = Array.from({ length: count }, (_, i) => `DD${i},1.00,00,"Ringgit 💸 ${i}"\n`);
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    const { lines, problems } = await readResults(`${HEADER},message\n${rows.join("")}`);
    clearInterval(timer);
    expect(problems).toEqual([]);
    expect(lines).toHaveLength(count);
    expect(
      lines.every(
        ({ order_no, line, result }, i) =>
          order_no === `DD${i}` && line === i + 2 && result.message === `Ringgit 💸 ${i}`,
      ),
    ).toBe(true);
    expect(turns).toBeGreaterThan(20);
  });
});
