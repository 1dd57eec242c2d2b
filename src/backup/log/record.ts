import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { Manifest } from "../manifest.ts";
import { readText, type Target } from "../target.ts";

const StoredObject = Manifest.properties.rows;
const Count = Type.Integer({ minimum: 0 });

/** A piece of SQLite's log: its bytes from `from` up to `to`, the end of a commit. */
export const LogBytes = Type.Object({
  sequence: Count,
  salts: Type.String({ pattern: "^[0-9a-f]{16}$" }),
  from: Count,
  to: Count,
});
export type LogBytes = Static<typeof LogBytes>;

/** What was committed up to an instant, beside a point: all that a restore to it needs to know. Decision 0181. */
export const LogRecord = Type.Object({
  format: Type.Literal(1),
  /** Numbers the records of a point. */
  n: Count,
  /** A database that the log is replayed on, or more of the log. */
  kind: Type.Union([Type.Literal("base"), Type.Literal("log")]),
  /** What was committed up to here is in it, and nothing later. */
  instant: Type.String(),
  /** Usage events up to this number were stored before. */
  usage_seq: Count,
  /** Usage events up to this number are in the segments of the point and its records so far. */
  stored_seq: Count,
  /** Documents up to this id are in the point and its records so far. */
  document_id: Count,
  bytes: LogBytes,
  /** The bytes; null where there are none. */
  log: Type.Union([StoredObject, Type.Null()]),
  base: Type.Union([StoredObject, Type.Null()]),
  segments: Manifest.properties.segments,
  documents: Manifest.properties.documents,
});
export type LogRecord = Static<typeof LogRecord>;

/** A record by its name. */
export interface RecordName extends Pick<LogRecord, "n" | "kind" | "instant"> {
  readonly name: string;
}

const NAME = /\/(\d{8})-(base|log)-([^/]+)\.json$/;

/** All that belongs to a point's log. */
export const logFolder = (point: string) => `log/${point}/`;

const recordsFolder = (point: string) => `${logFolder(point)}records/`;

/** `log/2026-…Z/records/00000007-log-2026-…Z.json` */
export const recordName = (point: string, { n, kind, instant }: Omit<RecordName, "name">) =>
  `${recordsFolder(point)}${String(n).padStart(8, "0")}-${kind}-${instant}.json`;

/** The records of a point, in their order. Errors: those of the target. */
export async function listRecords(target: Pick<Target, "list">, point: string): Promise<RecordName[]> {
  const found = (await target.list(recordsFolder(point))).flatMap(({ name }): RecordName[] => {
    const [, n, kind, instant] = NAME.exec(name) ?? [];
    if (n === undefined || instant === undefined) return [];
    return [{ name, n: Number(n), kind: kind === "base" ? "base" : "log", instant }];
  });
  return found.toSorted((a, b) => a.n - b.n);
}

/** Errors: throws where it is not there, or can't be read. */
export async function readRecord(target: Pick<Target, "read">, name: string): Promise<LogRecord> {
  const value: unknown = JSON.parse(await readText(target, name));
  if (Value.Check(LogRecord, value)) return value;
  const problem = Value.Errors(LogRecord, value).First();
  throw new Error(`Cannot read ${name}: ${problem?.path} ${problem?.message}`);
}
