import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Scope } from "../../core/access.ts";
import { invalid } from "../../core/errors.ts";
import { strict } from "../../core/schema.ts";
import { PAGING, type SearchUsage } from "./model.ts";
import type { Window } from "../../core/windows.ts";
import { MAX_TIMESTAMP_MS, type SearchPosition } from "../../usage_store/port.ts";

/** The place where the next page of a search begins. Decision 0043. */
export interface Cursor {
  /** The number of that page. */
  page: number;
  /** The window of the first page: one relative to now would move from page to page. */
  window: Window;
  after: SearchPosition;
}

const Moment = Type.Integer({ minimum: 0, maximum: MAX_TIMESTAMP_MS + 1 });

/** Patterns of the value that the last event of a page is sorted by. */
const VALUES = { timestamp: /^\d{1,15}$/, usage: /^-?\d{1,12}(\.\d{1,6})?$/ };

const Content = strict({
  page: Type.Integer({ minimum: 1 }),
  start_ms: Type.Optional(Moment),
  end_ms: Type.Optional(Moment),
  value: Type.String(),
  id: Type.String({ pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" }),
  mark: Type.String(),
});

/** Encodes a cursor, which is valid for this search only. */
export function writeCursor(scope: Scope, search: SearchUsage, cursor: Cursor): string {
  const { page, window, after } = cursor;
  const content = { page, ...window, ...after, mark: markOf(scope, search, cursor) };
  return Buffer.from(JSON.stringify(content)).toString("base64url");
}

/**
 * Decodes what `writeCursor` wrote for the same search. Nothing in it is secret: a forged one shows only what a search
 * with that window shows. Errors: invalid for any other text.
 */
export function readCursor(scope: Scope, search: SearchUsage, text: string): Cursor {
  const content = decode(text);
  const { sort_by = "timestamp" } = search;
  if (!Value.Check(Content, content) || !VALUES[sort_by].test(content.value))
    throw invalid("/cursor", "must be a next_cursor of an earlier page");
  const { page, start_ms, end_ms, value, id, mark } = content;
  const cursor = { page, window: { start_ms, end_ms }, after: { value, id } };
  if (mark === markOf(scope, search, cursor)) return cursor;
  throw invalid(
    "/cursor",
    "must be the next_cursor of the same search: only limit may change, not the filters or the order",
  );
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, "base64url").toString());
  } catch {
    return undefined;
  }
}

/** A digest of the search and the cursor, so that a cursor of another search is refused. */
function markOf(scope: Scope, search: SearchUsage, { page, window, after }: Cursor): string {
  const { metadata = {}, ...others } = search;
  const conditions = sortedEntries({ sort_by: "timestamp", sort_order: "desc", ...others });
  const content = [
    [scope.company_id, scope.client_id],
    conditions.filter(([field]) => !PAGING.some((paging) => paging === field)),
    sortedEntries(metadata),
    [page, window.start_ms, window.end_ms, after.value, after.id],
  ];
  return new Bun.CryptoHasher("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 22);
}

function sortedEntries(fields: object): [string, unknown][] {
  return Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
}
