import { instant } from "../../../src/core/time.ts";
import type { Unmetered } from "../../../src/billing/meters/unmetered.ts";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import { dec, matchText, type ModelLine } from "../rating/charge_model.ts";
import type { Outside } from "./count_by_model.ts";

// Bills against the model's: line by line, in minor units and trillionths.

/** A record as it is stored. */
export interface StoredRecord {
  readonly id: number;
  readonly kind: string;
  readonly sequence: number;
  readonly adjusts_billing_record_id: number | null;
  readonly billing_model_id: number;
  readonly totalCharges: string;
  readonly billedUnits: string;
  readonly lines: readonly BillLine[];
}

/** A line of the program as the model writes it; the code of a commitment to a year is `year`. Errors: throws where an amount has not the currency's digits. */
export function readLine(line: BillLine, digits: number): ModelLine {
  const { proration, charge_code = null, match = null, usage_digest, unit_price } = line;
  const code = line.commitment_interval ?? charge_code;
  return {
    kind: line.kind,
    plan_id: line.billing_model_id,
    from_ms: instant(line.from).epochMilliseconds,
    to_ms: instant(line.to).epochMilliseconds,
    days: proration === null ? null : proration.numerator,
    code,
    match: charge_code === null ? "" : matchText(match),
    quantity: dec(line.quantity),
    unit_price: unit_price === null ? null : dec(unit_price),
    minor: minorOf(line.amount, digits),
    events: line.event_count ?? 0,
    skipped: line.skipped_events ?? 0,
    digest: usage_digest === null ? 0n : BigInt(`0x${usage_digest}`),
  };
}

function minorOf(amount: string, digits: number): bigint {
  const [whole = "", part = ""] = amount.split(".");
  if (part.length !== digits) throw new Error(`${amount} has not ${digits} digits`);
  return BigInt(whole + part);
}

const keyOf = ({ kind, plan_id, from_ms, to_ms, days, code, match }: ModelLine) =>
  (code === "year" ? [kind, plan_id, code] : [kind, plan_id, from_ms, to_ms, days, code, match]).join(" ");

const HALF = 1n << 64n;
/** The sum of two digests, each of whose halves is a sum modulo 2^64. */
const addDigests = (a: bigint, b: bigint) =>
  (((a / HALF + b / HALF) % HALF) << 64n) + (((a % HALF) + (b % HALF)) % HALF);
const negateDigest = (digest: bigint) =>
  (((HALF - digest / HALF) % HALF) << 64n) + ((HALF - (digest % HALF)) % HALF);

function netOf(lines: readonly ModelLine[]): Map<string, ModelLine> {
  const net = new Map<string, ModelLine>();
  for (const line of lines) {
    const own = net.get(keyOf(line));
    net.set(keyOf(line), own ? plus(own, line) : line);
  }
  return net;
}

const plus = (a: ModelLine, b: ModelLine): ModelLine => ({
  ...a,
  quantity: a.quantity + b.quantity,
  minor: a.minor + b.minor,
  events: a.events + b.events,
  skipped: a.skipped + b.skipped,
  digest: addDigests(a.digest, b.digest),
});

const negative = (line: ModelLine): ModelLine => ({
  ...line,
  quantity: -line.quantity,
  minor: -line.minor,
  events: -line.events,
  skipped: -line.skipped,
  digest: negateDigest(line.digest),
});

/** What is missing on record: all lines of a first record, later the differences that are any. */
export function missingLines(
  expected: readonly ModelLine[],
  recorded: readonly StoredRecord[],
  digits: number,
): ModelLine[] {
  if (recorded.length === 0) return [...expected];
  const before = netOf(recorded.flatMap(({ lines }) => lines.map((line) => readLine(line, digits))));
  const wanted = netOf(expected);
  const now = [...wanted].map(([key, line]) => {
    const own = before.get(key);
    return own ? plus(line, negative(own)) : line;
  });
  const gone = [...before].flatMap(([key, line]) => (wanted.has(key) ? [] : [negative(line)]));
  return [...now, ...gone].filter(
    ({ kind, minor, events, quantity, days }) =>
      minor !== 0n ||
      events !== 0 ||
      (quantity !== 0n && (kind === "usage" || kind === "overage" || (kind === "charge" && days === null))),
  );
}

/** Compares lines with the model's. Errors: throws, naming the first that differs. */
export function compareLines(
  lines: readonly BillLine[],
  expected: readonly ModelLine[],
  digits: number,
  of: string,
): void {
  const actual = lines.map((line) => readLine(line, digits));
  const byKey = new Map(actual.map((line) => [keyOf(line), line]));
  for (const line of expected) {
    const own = byKey.get(keyOf(line));
    byKey.delete(keyOf(line));
    if (!own || textOf(own) !== textOf(line))
      throw new Error(`${of}: a line is ${own ? textOf(own) : "missing"}, and the model has ${textOf(line)}`);
  }
  for (const [, line] of byKey) throw new Error(`${of}: a line too many: ${textOf(line)}`);
  if (actual.length !== expected.length)
    throw new Error(`${of}: ${actual.length} lines, and the model has ${expected.length}`);
}

const textOf = (line: ModelLine) =>
  JSON.stringify(line, (_, value) => (typeof value === "bigint" ? String(value) : value));

/** Compares a record with the model's lines for its period. Errors: throws, naming what differs. */
export function checkRecord(
  record: StoredRecord,
  before: readonly StoredRecord[],
  expected: { lines: readonly ModelLine[]; plan_id: number; digits: number; of: string },
): void {
  const { lines, plan_id, digits } = expected;
  const of = `${expected.of}, record ${record.id}`;
  const missing = missingLines(lines, before, digits);
  compareLines(record.lines, missing, digits, of);
  const [first] = before;
  const total = missing.reduce((sum, { minor }) => sum + minor, 0n);
  const units = missing.reduce((sum, { kind, quantity }) => sum + (kind === "usage" ? quantity : 0n), 0n);
  const same = [
    ["kind", record.kind, first ? "adjustment" : "period"],
    ["sequence", record.sequence, before.length],
    ["adjusts", record.adjusts_billing_record_id, first?.id ?? null],
    ["billing_model_id", record.billing_model_id, plan_id],
    ["totalCharges", minorOf(record.totalCharges, digits), total],
    ["billedUnits", dec(record.billedUnits), units],
  ] as const;
  for (const [field, actual, wanted] of same)
    if (actual !== wanted) throw new Error(`${of}: ${field} is ${actual}, and the model has ${wanted}`);
}

/** Compares what a bill says that nothing counted with the model's. Errors: throws, naming both. */
export function checkUnmetered(said: Unmetered | null | undefined, expected: Outside, of: string): void {
  const found = said ? [said.event_count, dec(said.usage)] : [0, 0n];
  const [events, usage] = [expected.events, expected.millionths * dec("0.000001")];
  if (found[0] !== events || found[1] !== usage || (said && events === 0))
    throw new Error(`${of}: nothing counted ${found.join(" of ")}, and the model has ${events} of ${usage}`);
}
