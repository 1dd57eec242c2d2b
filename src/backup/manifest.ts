import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { strict } from "../core/schema.ts";

/** The version of a manifest's layout; one with another is refused. */
export const MANIFEST_FORMAT = 1;

const Sha256 = Type.String({ pattern: "^[0-9a-f]{64}$" });
const Count = Type.Integer({ minimum: 0 });

/** An object of a point, by its name in the backup: written once, shared by all points that name it. */
const StoredObject = {
  name: Type.String({ minLength: 1 }),
  /** Of the content, before it was encrypted. */
  sha256: Sha256,
  /** Bytes of the content, before it was encrypted. */
  size: Count,
  /** The age public key that it is encrypted to; null: it is not. */
  recipient: Type.Union([Type.String(), Type.Null()]),
};

/** The events of a company with a timestamp in a month of UTC. `digest` is as of `WindowTotal`. */
const MonthDigest = strict({
  company_id: Type.Integer(),
  /** `2026-11` */
  month: Type.String(),
  events: Count,
  units: Type.String(),
  digest: Type.String(),
});

/** A point of a backup: all that a restore needs to know. It is written last. Decision 0180. */
export const Manifest = strict({
  format: Type.Literal(MANIFEST_FORMAT),
  /** When it was begun, which names it. */
  instant: Type.String(),
  /** The version of the program that wrote it. */
  program: Type.String(),
  /** The database that the rows come from. */
  dialect: Type.Union([Type.Literal("sqlite"), Type.Literal("postgres")]),
  /** That database's own name: segments are shared by the points of one database. */
  database_id: Type.String(),
  /** The cut: events up to this number are in the point. */
  last_seq: Count,
  /** How many these are. */
  events: Count,
  digests: Type.Array(MonthDigest),
  /** A SQLite database of the present layout, from PostgreSQL too. */
  rows: strict(StoredObject),
  /** Rows by table. */
  counts: Type.Record(Type.String(), Count),
  /** Parquet files with the columns of `UsageStore.exportSegment`: events with `from` < seq <= `to`. */
  segments: Type.Array(
    strict({ ...StoredObject, lane: Type.Literal(0), from: Count, to: Count, events: Count }),
  ),
  /**
   * What was kept of removed events, a Parquet file of `UsageStore.exportKept`, and where the events of each such company
   * begin, in Unix ms. Only where events were removed.
   */
  kept: Type.Optional(
    strict({
      ...StoredObject,
      since: Type.Array(strict({ company_id: Type.Integer(), since_ms: Count })),
    }),
  ),
  documents: Type.Array(strict({ ...StoredObject, company_id: Type.Integer() })),
});
export type Manifest = Static<typeof Manifest>;

/** An object that a manifest names. */
export type BackupObject = Manifest["rows"];

const POINTS = "points/";
const SUFFIX = ".json";

/** `points/2026-11-22T02:00:00.000Z.json` */
export const manifestName = (instant: string) => `${POINTS}${instant}${SUFFIX}`;

const NAME = /^points\/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\.json$/;

/** The instant of a manifest's name; undefined for any other name. */
export const instantOf = (name: string): string | undefined => NAME.exec(name)?.[1];

/** Reads a manifest. Errors: throws what is wrong with it. */
export function readManifest(text: string, name: string): Manifest {
  const value: unknown = parsed(text, name);
  const format = typeof value === "object" && value !== null && "format" in value ? value.format : undefined;
  if (format !== MANIFEST_FORMAT) {
    throw new Error(
      `Cannot read ${name}: its format is ${String(format)}, this program reads ${MANIFEST_FORMAT}`,
    );
  }
  if (Value.Check(Manifest, value)) return value;
  const problem = Value.Errors(Manifest, value).First();
  throw new Error(`Cannot read ${name}: ${problem?.path} ${problem?.message}`);
}

function parsed(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`Cannot read ${name}: it is no JSON`, { cause: error });
  }
}

/** The names of all objects that a manifest names. */
export function* objectsOf({ rows, segments, kept, documents }: Manifest): Iterable<BackupObject> {
  yield rows;
  yield* segments;
  if (kept) yield kept;
  yield* documents;
}
