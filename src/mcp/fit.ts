import { type AppError, invalid } from "../core/errors.ts";
import { LIMITS } from "./limits.ts";

// Answers that a model can read at once: what does not fit is cut at a row of the longest list, and goes on with a
// cursor. Decision 0288.

/** Where an answer goes on: the operation's own page or cursor, and how many rows of it were given before. */
export interface Place {
  at: number | string | null;
  skip: number;
  /** The row that was given last: the list goes on after it, however rows came and went. */
  last?: LastRow;
}

interface LastRow {
  id: number;
  order: (typeof ORDERS)[number];
}

/** Ids rise, or fall, the newest first; one row does not show which; or the list is in another order. */
const ORDERS = ["rises", "falls", "unknown", "other"] as const;

/** What the rows of a list are in the order of. */
export type RowOrder = "ids" | "other";

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
    const [at, skip, id, named]: unknown[] = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (!isWhole(skip)) return undefined;
    if (at === null || typeof at === "string") return { at, skip };
    if (!isWhole(at) || at === 0) return undefined;
    if (id === undefined) return { at, skip };
    const order = ORDERS.find((one) => one === named);
    return isWhole(id) && order !== undefined ? { at, skip, last: { id, order } } : undefined;
  } catch {
    return undefined;
  }
}

function isWhole(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function writePlace({ at, skip, last }: Place): string {
  if (typeof at === "string" && skip === 0) return at;
  const row = last && typeof at === "number" ? [last.id, last.order] : [];
  return Buffer.from(JSON.stringify([at, skip, ...row])).toString("base64url");
}

/**
 * Reads the page on which a list goes on, and where on it: rows that came or went meanwhile have moved it. Mostly it is the
 * page that the place names or the one beside it; else the pages between are halved.
 */
export async function resumed(
  place: Place,
  read: (at: Place["at"]) => Promise<Answer>,
): Promise<{ answer: Answer; place: Place }> {
  const { at, last } = place;
  let answer = await read(at);
  if (last === undefined || typeof at !== "number") return { answer, place };
  if (last.order === "other") return afterRow({ answer, at, place }, last, read);
  const falls = last.order === "unknown" ? await findFalls(last, read) : last.order === "falls";
  const isPast = (row: unknown) => (falls ? idOf(row) < last.id : idOf(row) > last.id);
  let read_page = at;
  const rowsOn = async (page: number) => {
    if (page !== read_page) answer = await read(page);
    read_page = page;
    return rowsAt(answer, ["data"]);
  };
  // Between these is the first page that ends after the row that was given last.
  let [low, high] = [1, Number(metaOf(answer).total_pages ?? 0) + 1];
  for (let page = Math.min(at, high), steps = 0; low < high; steps++) {
    const rows = await rowsOn(page);
    if (rows.length > 0 && !isPast(rows.at(-1))) low = page + 1;
    else high = page;
    if (rows.length > 0 && !isPast(rows[0])) low = Math.min(page + 1, high);
    const beside = page === high ? high - 1 : low;
    page = steps === 0 ? beside : Math.floor((low + high) / 2);
  }
  const before = (await rowsOn(high)).filter((row) => !isPast(row));
  return { answer, place: { at: high, skip: before.length, last } };
}

/** Whether ids fall on a list whose first page had one row. */
async function findFalls({ id }: LastRow, read: (at: Place["at"]) => Promise<Answer>): Promise<boolean> {
  const rows = [...rowsAt(await read(1), ["data"]), ...rowsAt(await read(2), ["data"])];
  const [first = id, second] = rows.map(idOf);
  return second === undefined ? first < id : second < first;
}

/** Goes on after a row where it is on the page on which it was given, or beside it; else by the number of rows. */
async function afterRow(
  { answer, at, place }: { answer: Answer; at: number; place: Place },
  last: LastRow,
  read: (at: Place["at"]) => Promise<Answer>,
): Promise<{ answer: Answer; place: Place }> {
  const given_on = place.skip === 0 ? at - 1 : at;
  for (const page of [given_on, given_on - 1, given_on + 1].filter((one) => one > 0)) {
    const found = page === at ? answer : await read(page);
    const rows = rowsAt(found, ["data"]);
    const position = rows.findIndex((row) => idOf(row) === last.id);
    if (position === -1) continue;
    if (position < rows.length - 1) return { answer: found, place: { at: page, skip: position + 1, last } };
    const following = page + 1 === at ? answer : await read(page + 1);
    return { answer: following, place: { at: page + 1, skip: 0, last } };
  }
  return { answer, place };
}

/** The part of an answer that begins at a place and fits, with `meta.next_cursor` where more follows. */
export function fitted(answer: Answer, place: Place, order?: RowOrder): Answer {
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
  const last = order === undefined ? {} : lastRow(all, shown, { order, before: place.last });
  const next = following === null ? {} : { next_cursor: writePlace({ ...following, ...last }) };
  const is_page = path.length === 1;
  const part = is_cut && !is_page ? { list: path.join("."), from: place.skip, total: all.length } : {};
  const added = { ...part, ...next };
  const cut = withRows(answer, path, shown);
  return Object.keys(added).length === 0 ? cut : { ...cut, meta: { ...metaOf(answer), ...added } };
}

/** The last row that is shown; a single row of a page is in the order of those before it. */
function lastRow(
  all: readonly unknown[],
  shown: readonly unknown[],
  { order, before }: { order: RowOrder; before: LastRow | undefined },
): Pick<Place, "last"> {
  const id = idOf(shown.at(-1));
  if (Number.isNaN(id)) return {};
  if (order === "other") return { last: { id, order } };
  const [first, second] = all.map(idOf);
  if (first !== undefined && second !== undefined)
    return { last: { id, order: second < first ? "falls" : "rises" } };
  if (before?.order !== "unknown") return { last: { id, order: before?.order ?? "unknown" } };
  return { last: { id, order: id < before.id ? "falls" : "rises" } };
}

/** The id of a row; NaN where it has none. */
function idOf(row: unknown): number {
  const id: unknown = Object(row).id;
  return isWhole(id) ? id : Number.NaN;
}

/**
 * The part that fits of a page that has a cursor of its own, which leads on where the page is read again with as many rows
 * as fit: a number of rows would not, once some are gone.
 */
export async function shortened(
  { answer, part }: { answer: Answer; part: Answer },
  read: (limit: number) => Promise<Answer>,
  place: Place,
): Promise<Answer> {
  let fits = { answer, part };
  // With its cursor a page may have room for one row less.
  for (let tries = 0; tries < 3 && rowsCut(fits) > 0; tries++) {
    const shorter = await read(rowsCut(fits));
    fits = { answer: shorter, part: fitted(shorter, place) };
  }
  return fits.part;
}

/** How many rows of a page are left where it was cut; 0 where it was not. */
function rowsCut({ answer: { data: all }, part: { data: shown } }: { answer: Answer; part: Answer }): number {
  return Array.isArray(all) && Array.isArray(shown) && shown.length < all.length ? shown.length : 0;
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
