import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { At, oneOf, strict } from "../../core/schema.ts";
import { EXPORT_FORMATS } from "../../usage_store/port.ts";
import { PAGING, SearchUsage } from "../search/model.ts";

/** An export: a search without paging or sums. */
export const ExportUsage = strict(
  {
    format: oneOf(EXPORT_FORMATS),
    ...Type.Omit(SearchUsage, PAGING).properties,
  },
  { title: "ExportUsage" },
);
export type ExportUsage = Static<typeof ExportUsage>;

/** A link to an export, valid for a short time. */
export const UsageExportLink = Type.Object(
  { url: Type.String({ description: "GET it without a token" }), expires_at: At },
  { title: "UsageExportLink" },
);

export const FollowExportLink = strict({
  link: Type.String({ minLength: 1, maxLength: LIMITS.usage_export_link_characters }),
});
