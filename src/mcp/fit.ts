import { type AppError, invalid } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";

// Answers that a model can read at once: what does not fit is cut at a row of the longest list, and goes on with a
// cursor. Decision 0288.

/** Where an answer goes on: the operation's own page or cursor, and how many rows of it were given before. */
export interface Place {
  at: number | string | null;
  skip: number;
}

export type Answer = Record<string, unknown>;

/** How deep the longest list may lie inside of `data`. */
const DEPTH = 4;
/** Room for the `meta` that is added. */
const META_CHARACTERS = 500;

/**
 * The place that a cursor names, of an operation that goes on by pages, by cursors of its own (any other text is one of
 * these) or not at all. Errors: invalid for a text that is no cursor of it.
 */
export function readPlace(cursor: unknown, goes_by: "page" | "cursor" | undefined): Place {
  if (typeof cursor !== "string") return { at: null, skip: 0 };
  const place = placeIn(cursor);
  if (place === undefined && goes_by === "cursor") return { at: cursor, skip: 0 };
  const kind = goes_by === "page" ? "number" : "string";
  if (place === undefined || (place.at !== null && (goes_by === undefined || typeof place.at !== kind)))
    throw noCursor();
  return place;
}

/** The refusal of a text that is no cursor. */
export function noCursor(): AppError {
  return invalid("/cursor", "must be the next_cursor of an answer, with the rest of the request unchanged");
}

/** The place that `writePlace` wrote; undefined for any other text. */
function placeIn(cursor: string): Place | undefined {
  try {
    const [at, skip]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (typeof skip !== "number" || !Number.isSafeInteger(skip) || skip < 0) return undefined;
    if (at === null || typeof at === "string") return { at, skip };
    return typeof at === "number" && Number.isSafeInteger(at) && at > 0 ? { at, skip } : undefined;
  } catch {
    return undefined;
  }
}

function writePlace({ at, skip }: Place): string {
  if (typeof at === "string" && skip === 0) return at;
  return Buffer.from(JSON.stringify([at, skip])).toString("base64url");
}

/** The part of an answer that begins at a place and fits, with `meta.next_cursor` where more follows. */
export function fitted(answer: Answer, place: Place): Answer {
  const path = listIn(answer);
  if (path === undefined) return answer;
  const all = rowsAt(answer, path);
  const rest = all.slice(place.skip);
  const bare = JSON.stringify(withRows(answer, path, [])).length + META_CHARACTERS;
  const shown = firstThatFit(rest, LIMITS.mcp_answer_characters - bare);
  const skipped = place.skip + shown.length;
  const is_cut = shown.length < all.length;
  // Not a single row fits: whoever asked is told how to ask for less.
  if (shown.length === 0 && rest.length > 0) return answer;
  const following = skipped < all.length ? { at: place.at, skip: skipped } : pageAfter(answer);
  const next = following === null ? {} : { next_cursor: writePlace(following) };
  const is_page = path.length === 1;
  const part = is_cut && !is_page ? { list: path.join("."), from: place.skip, total: all.length } : {};
  const added = { ...part, ...next };
  const cut = withRows(answer, path, shown);
  return Object.keys(added).length === 0 ? cut : { ...cut, meta: { ...metaOf(answer), ...added } };
}

/** The page after that of a list, by the list's own account. */
function pageAfter(answer: Answer): Place | null {
  const { page, total_pages, next_cursor } = metaOf(answer);
  if (typeof next_cursor === "string") return { at: next_cursor, skip: 0 };
  if (typeof page !== "number" || typeof total_pages !== "number" || page >= total_pages) return null;
  return { at: page + 1, skip: 0 };
}

function metaOf({ meta }: Answer): Record<string, unknown> {
  return isRecord(meta) ? meta : {};
}

/** The path to the list that makes an answer long: a page's own, or the longest inside of a record. */
function listIn(answer: Answer): string[] | undefined {
  const { data, meta } = answer;
  if (Array.isArray(data) && (meta !== undefined || data.length !== 1)) return ["data"];
  let longest: { path: string[]; length: number } | undefined;
  const look = (value: unknown, path: string[]): void => {
    if (Array.isArray(value) && !(path.length === 1 && value.length === 1)) {
      const { length } = JSON.stringify(value);
      if (length > (longest?.length ?? 0)) longest = { path, length };
    } else if (typeof value === "object" && value !== null && path.length <= DEPTH) {
      for (const [name, member] of Object.entries(value)) look(member, [...path, name]);
    }
  };
  look(data, ["data"]);
  return longest?.path;
}

function rowsAt(value: unknown, [name, ...path]: readonly string[]): readonly unknown[] {
  if (name === undefined) return Array.isArray(value) ? value : [];
  return rowsAt(Object(value)[name], path);
}

/** The same answer with other rows at a path. */
function withRows(answer: Answer, path: readonly string[], rows: readonly unknown[]): Answer {
  const changed = replaced(answer, path, rows);
  return isRecord(changed) ? changed : answer;
}

function replaced(value: unknown, [name, ...path]: readonly string[], rows: readonly unknown[]): unknown {
  if (name === undefined) return rows;
  if (Array.isArray(value))
    return value.map((item, i) => (String(i) === name ? replaced(item, path, rows) : item));
  return isRecord(value) ? { ...value, [name]: replaced(value[name], path, rows) } : value;
}

function firstThatFit(rows: readonly unknown[], characters: number): unknown[] {
  const shown: unknown[] = [];
  let left = characters;
  for (const row of rows) {
    left -= JSON.stringify(row).length + 1;
    if (left < 0) break;
    shown.push(row);
  }
  return shown;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
