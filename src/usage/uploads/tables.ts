import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { type Matching, type RejectedPlace, UPLOAD_FORMATS, UPLOAD_STATUSES } from "./model.ts";

export const usageUploadTable = (k: ColumnKit) =>
  k.table(
    "usage_uploads",
    {
      id: k.id(),
      ...companyColumn(k),
      file_name: k.text("file_name").notNull(),
      format: k.enumeration("format", UPLOAD_FORMATS).notNull(),
      bytes: k.integer("bytes").notNull(),
      lines: k.integer("lines").notNull(),
      digest: k.text("digest").notNull(),
      /** Its name in the folder of uploads, for ever; `has_file` says whether it is still there. */
      file: k.text("file").notNull(),
      has_file: k.boolean("has_file").notNull(),
      columns: k.json<string[]>("columns").notNull(),
      sample: k.json<(string | null)[][]>("sample").notNull(),
      matching: k.json<Matching>("matching"),
      status: k.enumeration("status", UPLOAD_STATUSES).notNull(),
      dry_run: k.boolean("dry_run").notNull(),
      /** Rows whose outcome is written down: it goes on after them. */
      rows: k.integer("rows").notNull(),
      accepted: k.integer("accepted").notNull(),
      duplicates: k.integer("duplicates").notNull(),
      rejected: k.integer("rejected").notNull(),
      /** The rejected ones that are named. */
      named: k.integer("named").notNull(),
      /** Each run has the next number: a step of an earlier one changes nothing. */
      run: k.integer("run").notNull(),
      /** Failures since the last step that went well. */
      attempts: k.integer("attempts").notNull(),
      error: k.text("error"),
      /** A user's id, which outlives the user. */
      requested_by: k.integer("requested_by"),
      finished_at: k.at("finished_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("usage_uploads_company").on(t.company_id, t.id),
      k.index("usage_uploads_status").on(t.status, t.company_id),
    ],
  );

/** Rejected rows of an upload, those of a step in one. */
export const usageUploadRejectionTable = (k: ColumnKit) =>
  k.table(
    "usage_upload_rejections",
    {
      id: k.id(),
      ...companyColumn(k),
      upload_id: k.ref("upload_id", usageUploadTable).notNull(),
      places: k.json<RejectedPlace[]>("places").notNull(),
      ...stamps(k),
    },
    (t) => [k.index("usage_upload_rejections_upload").on(t.upload_id, t.id)],
  );
