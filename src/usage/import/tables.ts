import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

/** Imported files with rows without an id, which are recognized by their content. */
export const usageImportTable = (k: ColumnKit) =>
  k.table(
    "usage_imports",
    {
      id: k.id(),
      ...companyColumn(k),
      file_name: k.text("file_name").notNull(),
      digest: k.text("digest").notNull(),
      bytes: k.integer("bytes").notNull(),
      /** The number of rows of which some may have been stored. */
      rows: k.integer("rows").notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("usage_imports_content").on(t.company_id, t.digest)],
  );
