import { unmendable } from "../../core/exit_codes.ts";
import type { LastKeys, StoreFacts } from "../../usage_store/identity.ts";

/** What is known of a usage store when it is to be used. `setting`: the one that says where it is; DATA_DIR by default. */
export type UsageExtent = Omit<StoreFacts, "keysAbove"> & LastKeys & { setting?: "USAGE_URL" };

/** A database's record of its usage store (see tables.ts), and the highest keys that it ever gave. */
export interface DatabaseLink extends LastKeys {
  database_id: string;
  store_id: string | null;
  opening_number: number;
  opening_id: string | null;
  last_seq: number;
  place: string | null;
  /** The number of the last event that a bill has counted. */
  counted_seq: number;
}

/** The command by which an operator accepts a refused store. */
export const ACCEPT = "doctor --accept-usage";

/**
 * The reason why a usage store can't be used with a database, and the remedy; null if it can. Each side records of the
 * other only what that has made durable, so two that were used together are never refused, at whatever moment they were
 * killed. Decision 0116.
 */
export function refusalOf(database: DatabaseLink, usage: UsageExtent): string | null {
  const last_place = database.place === null ? "" : `, last opened in ${database.place}`;
  if (usage.database_id !== null && usage.database_id !== database.database_id) {
    return `it belongs to another database: start it with that one, or set ${usage.setting ?? "DATA_DIR"} to another place; only if it is this database's all the same, ${ACCEPT} says so`;
  }
  if (database.store_id !== null && usage.store_id !== database.store_id) {
    return `this database's usage is in another one${last_place}: ${wayTo(database.place)}, or restore it from a backup; if it is lost, ${ACCEPT} goes on with what is here`;
  }
  return ageProblem(database, usage);
}

function ageProblem(database: DatabaseLink, usage: UsageExtent): string | null {
  const { opening_number, opening_id, place } = database;
  if (opening_id !== null && !usage.openings.some(({ id }) => id === opening_id)) {
    const [first, last] = [usage.openings.at(0), usage.openings.at(-1)];
    if (!last || last.number < opening_number) return olderUsage("it lacks the last opening");
    if (first && first.number > opening_number) return olderDatabase("it lacks the store's last opening");
    return `another copy of it was used since, in ${place}: ${wayTo(place)}; if that copy is lost, ${ACCEPT} goes on with this one`;
  }
  const known_seq = Math.max(database.last_seq, database.counted_seq);
  if (usage.last_seq < known_seq) {
    const source = database.counted_seq > usage.last_seq ? "bills have counted" : "it had stored";
    return olderUsage(`its events end at number ${usage.last_seq}, and ${source} up to ${known_seq}`);
  }
  for (const kind of ["company_id", "subscription_id"] as const) {
    if (usage[kind] <= database[kind]) continue;
    return olderDatabase(
      `it has given ${kind} ${database[kind]} last, and usage is stored under ${usage[kind]}`,
    );
  }
  return null;
}

function olderUsage(reason: string): string {
  return `it is older than the database (${reason}): restore the newer usage store; if that is lost, ${ACCEPT} goes on without its events`;
}

function olderDatabase(reason: string): string {
  return `the database is older than the usage store (${reason}): restore the newer database, or the usage store of the same backup; if it is lost, ${ACCEPT} goes on with keys that were never used`;
}

/** What the place of a usage store on ClickHouse begins with. */
const CLICKHOUSE = "ClickHouse at ";

/** The place of a usage store on ClickHouse, without its user. */
export function clickHousePlace(usage_url: string): string {
  const { host, pathname } = new URL(usage_url);
  return `${CLICKHOUSE}${host}${pathname}`;
}

/** How the usage store in a place is used again. */
function wayTo(place: string | null): string {
  return place?.startsWith(CLICKHOUSE) === true
    ? "set USAGE_URL to it"
    : "set DATA_DIR to that folder, without USAGE_URL";
}

export function refusal(place: string, problem: string): Error {
  return unmendable(`Cannot use the usage store in ${place}: ${problem}`);
}

/** The problem of a missing file where the database has used a store. */
export function missingUsageProblem(place: string | null): string {
  return `there is none, and this database's was last opened in ${place}: ${wayTo(place)}, or restore it from a backup; if it is lost, ${ACCEPT} begins an empty one`;
}
