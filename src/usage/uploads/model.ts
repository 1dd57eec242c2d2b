import { type Static, Type } from "@sinclair/typebox";
import { At, Id, nullable, oneOf, pageFields, sortedBy, strict } from "../../core/schema.ts";
import { LIMITS } from "../limits.ts";
import { ImportedBlock } from "../import/model.ts";

export const UPLOAD_FORMATS = ["csv", "ndjson"] as const;
export type UploadFormat = (typeof UPLOAD_FORMATS)[number];

export const UPLOAD_STATUSES = ["uploaded", "running", "stopped", "finished", "failed"] as const;

const Column = Type.String({
  minLength: 1,
  maxLength: LIMITS.usage_upload_column_length,
  description: "a column of the file",
});

const Constant = Type.String({
  minLength: 1,
  maxLength: LIMITS.usage_upload_constant_length,
  description: "the same text for every row",
});

const Number = Type.String({
  pattern: "^-?[0-9]{1,12}([.][0-9]{1,12})?$",
  description: "a decimal as text, with at most 12 digits before and 12 after the point",
});

const text = { column: Type.Optional(Column), constant: Type.Optional(Constant) };

/** A column of the file, or the same text for every row: exactly one is given. */
const TextSource = strict(text, { title: "UploadText" });
export type TextSource = Static<typeof TextSource>;

/** A column or a number: exactly one. */
const Factor = strict(
  { column: Type.Optional(Column), constant: Type.Optional(Number) },
  { title: "UploadFactor" },
);
export type Factor = Static<typeof Factor>;

const Product = Type.Array(Factor, { minItems: 2, maxItems: LIMITS.usage_upload_factors });

/** A column, a number, or a product of these: exactly one. */
const Summand = strict({ ...Factor.properties, product: Type.Optional(Product) }, { title: "UploadSummand" });
export type Summand = Static<typeof Summand>;

/** A column, a number, a product or a sum: exactly one. What is computed is exact. */
const AmountSource = strict(
  {
    ...Summand.properties,
    sum: Type.Optional(Type.Array(Summand, { minItems: 2, maxItems: LIMITS.usage_upload_summands })),
  },
  { title: "UploadAmount" },
);
export type AmountSource = Static<typeof AmountSource>;

const MetadataKey = strict(
  {
    key: Type.String({ minLength: 1, maxLength: LIMITS.usage_metadata_key_length }),
    ...text,
    as: Type.Optional(
      Type.Union([Type.Literal("text"), Type.Literal("number")], {
        description: "text (default); number: values that are numbers are written as such",
      }),
    ),
  },
  { title: "UploadMetadataKey" },
);
export type MetadataKey = Static<typeof MetadataKey>;

/** A column of objects, or keys: exactly one. */
const MetadataSource = strict(
  {
    column: Type.Optional({ ...Column, description: "a column of JSON objects" }),
    keys: Type.Optional(
      Type.Array(MetadataKey, {
        minItems: 1,
        maxItems: LIMITS.usage_metadata_keys,
        description: "a key each; rows without a value have no such key",
      }),
    ),
  },
  { title: "UploadMetadata" },
);

/** Where each part of an event comes from. */
export const Matching = strict(
  {
    subscription: TextSource,
    subscription_field: Type.Optional(
      Type.Union([Type.Literal("external_subscription_id"), Type.Literal("subscription_id")], {
        description:
          "what the subscription's values are: external ids (default), or `<company_id>:<external id>`",
      }),
    ),
    timestamp: TextSource,
    usage: AmountSource,
    id: Type.Optional(strict({ column: Column }, { title: "UploadId" })),
    metadata: Type.Optional(MetadataSource),
  },
  { title: "UploadMatching" },
);
export type Matching = Static<typeof Matching>;

export const RunUpload = strict(
  {
    id: Id,
    matching: Matching,
    dry_run: Type.Optional(Type.Boolean({ description: "only judges the rows: nothing is stored" })),
  },
  {
    title: "RunUsageUpload",
    examples: [
      {
        matching: {
          subscription: { column: "customer" },
          timestamp: { column: "time" },
          usage: { sum: [{ column: "input" }, { product: [{ column: "output" }, { constant: "4" }] }] },
          metadata: { keys: [{ key: "model", column: "model" }] },
        },
        dry_run: true,
      },
    ],
  },
);

/** What is asked for with the bytes of a file. */
export const UploadName = strict({
  file_name: Type.String({
    minLength: 1,
    maxLength: 255,
    pattern: "^[^\\u0000-\\u001f\\u007f]+$",
    description: "the file's name: 1 to 255 characters, none of them a control character",
  }),
});

const counts = {
  rows: Type.Integer({ description: "rows that were looked at" }),
  accepted: Type.Integer({
    description:
      "rows that were stored; of a dry run those that would be, or are duplicates of what is stored",
  }),
  duplicates: Type.Integer({ description: "rows that were stored before; 0 of a dry run" }),
  rejected: ImportedBlock.properties.rejected,
};

const fields = {
  id: Id,
  file_name: Type.String(),
  format: oneOf(UPLOAD_FORMATS),
  bytes: Type.Integer(),
  lines: Type.Integer({ description: "of the file: about as many rows" }),
  digest: Type.String({ description: "SHA-256 of the file's bytes, in hex" }),
  has_file: Type.Boolean({ description: "whether it can be run: the file goes once it was imported" }),
  status: oneOf(UPLOAD_STATUSES),
  dry_run: Type.Boolean({ description: "whether the last run stored nothing" }),
  ...counts,
  error: nullable(Type.String({ description: "why it failed" })),
  requested_by: nullable(Id),
  finished_at: nullable(At),
  created_at: At,
  updated_at: At,
};

/** A file of usage that was sent to be imported. */
export const UsageUpload = Type.Object(fields, { title: "UsageUpload" });
export type UsageUpload = Static<typeof UsageUpload>;

export const UsageUploadDetail = Type.Object(
  {
    ...fields,
    columns: Type.Array(Type.String()),
    sample: Type.Array(Type.Array(nullable(Type.String())), {
      description: `the first ${LIMITS.usage_upload_sample} rows, a text for each column, cut to ${LIMITS.usage_upload_sample_length} characters`,
    }),
    matching: nullable(Matching),
  },
  { title: "UsageUploadDetail" },
);
export type UsageUploadDetail = Static<typeof UsageUploadDetail>;

export const ListUploads = strict({ sort: sortedBy(["id", "file_name", "created_at"]), ...pageFields });

/** A row that was rejected, or a line of the file that is none. */
export interface RejectedPlace {
  row: number | null;
  line: number | null;
  reason: string;
}

/** A file that was received. */
export interface ReceivedFile {
  /** Its name in the folder of uploads. */
  file: string;
  file_name: string;
  format: UploadFormat;
  bytes: number;
  lines: number;
  digest: string;
}
export const ReceivedFile = Type.Unsafe<ReceivedFile>(Type.Any());
