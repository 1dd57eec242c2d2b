import { pipeline } from "node:stream/promises";
import { CsvError, parse } from "csv-parse";
import { stringify } from "csv-stringify/sync";
import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { fromMinorUnits, type Decimal, toMinorUnits } from "../../core/money.ts";
import { findResponseCode, resultOf } from "./response_codes.ts";
import type { SchemeResult } from "./connector.ts";

// CSV files of debits and their results (RFC 4180, UTF-8). The columns are our own: the banks' format is not public.
// See docs/emandate_fpx.md#the-file-of-debits.

/** A debit as a line of the file that a bank is given. */
export interface CollectionLine {
  order_no: string;
  mandate_reference: string;
  /** The scheme's own key for the mandate, if it ever named one. */
  scheme_reference: string | null;
  customer_name: string;
  bank_code: string | null;
  amount: Decimal;
  currency: string;
  /** A day in Kuala Lumpur, YYYY-MM-DD. */
  due_date: string;
  description: string | null;
}

const COLUMNS = [
  "order_no",
  "mandate_reference",
  "scheme_reference",
  "customer_name",
  "bank_code",
  "amount",
  "currency",
  "due_date",
  "description",
] as const satisfies readonly (keyof CollectionLine)[];

export const COLLECTION_HEADER = csv([COLUMNS]);

/**
 * Lines of the file as CSV. Values that a spreadsheet would run as formulas get an apostrophe in front: names and
 * descriptions come from outside.
 */
export function collectionLines(lines: readonly CollectionLine[]): string {
  return csv(lines.map((line) => COLUMNS.map((column) => line[column] ?? "")));
}

function csv(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => [...row]),
    { record_delimiter: "\r\n", escape_formulas: true },
  );
}

/** A line of a file of results: the result of one order, at the step that it awaits. */
export interface ResultLine {
  /** Counted from 1, the header included. */
  line: number;
  order_no: string;
  amount: Decimal;
  result: SchemeResult;
}

/** The usable lines of a file, and the problems of the others. */
export interface ReadResults {
  lines: ResultLine[];
  problems: { line: number; message: string }[];
}

const REQUIRED = ["order_no", "amount", "response_code"] as const;
const OPTIONAL = ["charged_back", "ended_by", "scheme_txn_id", "message"] as const;
/** Who may end a mandate in force, and the message that goes with it. */
const ENDED_BY = new Map([
  ["bank", "Ended by the bank"],
  ["customer", "Ended by the customer at the bank"],
]);
type ResultColumn = (typeof REQUIRED)[number] | (typeof OPTIONAL)[number];

/**
 * Reads a file of results, yielding to requests now and then. A line with unusable values becomes a problem and the
 * others count; a file that is not CSV, or has other columns, is refused. Errors: invalid, with the line.
 */
export async function readResults(text: string): Promise<ReadResults> {
  let columns: ResultColumn[] | undefined;
  const seen = new Map<string, number>();
  const lines: ResultLine[] = [];
  const problems: ReadResults["problems"] = [];
  await eachRecord(text, (record, line) => {
    if (columns === undefined) {
      columns = readHeader(record);
      return;
    }
    const positions = columns;
    const value = (column: ResultColumn) => (record[positions.indexOf(column)] ?? "").trim();
    const problem = lineProblem(value, seen);
    if (problem !== null) {
      problems.push({ line, message: problem });
      return;
    }
    const order_no = value("order_no");
    seen.set(order_no, line);
    lines.push({
      line,
      order_no,
      amount: fromMinorUnits(toMinorUnits(value("amount"))),
      result: resultIn(value),
    });
  });
  if (columns === undefined) readHeader([]);
  return { lines, problems };
}

type ValueOf = (column: ResultColumn) => string;

function lineProblem(value: ValueOf, seen: ReadonlyMap<string, number>): string | null {
  const order_no = value("order_no");
  const before = seen.get(order_no);
  const most = LIMITS.collection_value_characters;
  if (!/^[\x21-\x7E]{1,40}$/.test(order_no)) return "order_no must be 1 to 40 characters without spaces";
  if (before !== undefined) return `order_no is already on line ${before}`;
  if (!/^\d{1,7}(\.\d{1,2})?$/.test(value("amount"))) return "amount must be such as 100.00";
  if (findResponseCode(value("response_code")) === undefined) {
    return "response_code must be one of the scheme's codes, such as 00 or 51";
  }
  if (!["", "yes", "no"].includes(value("charged_back"))) return "charged_back must be yes, no or empty";
  const ended_by = value("ended_by");
  if (ended_by !== "" && !ENDED_BY.has(ended_by)) return "ended_by must be bank, customer or empty";
  if (ended_by !== "" && (value("response_code") !== "00" || value("charged_back") === "yes")) {
    return "ended_by goes with the response_code 00, and without charged_back";
  }
  if (!/^[\x21-\x7E]{0,40}$/.test(value("scheme_txn_id"))) {
    return "scheme_txn_id must be at most 40 characters without spaces";
  }
  if (value("message").length > most || /\p{Cc}/u.test(value("message"))) {
    return `message must be at most ${most} characters on one line`;
  }
  return null;
}

function resultIn(value: ValueOf): SchemeResult {
  const result = resultOf(value("response_code"), value("scheme_txn_id") || null);
  const ended = ENDED_BY.get(value("ended_by"));
  const message = value("message") || (ended ?? result.message);
  if (ended !== undefined) return { ...result, message, answers: "end" };
  return value("charged_back") === "yes"
    ? { ...result, message, status: "charged_back", is_retriable: false }
    : { ...result, message };
}

/** Errors: invalid. */
function readHeader(names: readonly string[]): ResultColumn[] {
  const known: readonly ResultColumn[] = [...REQUIRED, ...OPTIONAL];
  const columns = names.map((name) => known.find((column) => column === name.trim()));
  const found = columns.filter((column) => column !== undefined);
  const is_good =
    found.length === columns.length &&
    new Set(found).size === found.length &&
    REQUIRED.every((column) => found.includes(column));
  if (is_good) return found;
  throw unreadable(1, `must name the columns ${REQUIRED.join(", ")}, and may name ${OPTIONAL.join(", ")}`);
}

/** Calls `use` with each record and the line on which it ends. Errors: invalid, and those of `use`. */
async function eachRecord(text: string, use: (record: string[], line: number) => void): Promise<void> {
  const most = LIMITS.collection_file_lines;
  let last = 0;
  const parser = parse({
    bom: true,
    skip_empty_lines: true,
    record_delimiter: ["\r\n", "\n"],
    max_record_size: LIMITS.collection_value_characters * 10,
    on_record(record, { lines }) {
      last = lines;
      if (lines > most) throw unreadable(lines, `is one too many: a file has at most ${most} lines`);
      use(record, lines);
      return null;
    },
  });
  try {
    await pipeline(piecesOf(text), parser.resume());
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    throw unreadable(typeof error.lines === "number" ? error.lines : last + 1, "can't be read as CSV");
  }
}

/** The text in pieces, yielding to requests between them. */
async function* piecesOf(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  const size = LIMITS.collection_file_piece;
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
    await Bun.sleep(0);
  }
}

function unreadable(line: number, problem: string): AppError {
  const details = [{ path: `/lines/${line}`, message: problem }];
  return new AppError("invalid", `Cannot read the file: line ${line} ${problem}`, { details });
}
