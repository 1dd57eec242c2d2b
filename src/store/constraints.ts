import { damagedError } from "../core/damage.ts";
import { AppError } from "../core/errors.ts";

/** What breaking a constraint means to the caller, by its name. */
export type Constraints = Readonly<Record<string, () => AppError>>;

/** The SQLSTATE of a database error, also when the query builder has wrapped it. */
export function sqlState(error: unknown): string | undefined {
  return causes(error)
    .map((cause) => cause.code)
    .find((code) => code !== undefined);
}

/** What databases say of a row that others refer to. */
const REFERENCED: ReadonlySet<string | undefined> = new Set([
  "23503", // foreign_key_violation
  "SQLITE_CONSTRAINT_FOREIGNKEY",
]);

/** Whether an error is that other rows refer to the one that would go, or that one does not exist that is referred to. */
export const isReferenced = (error: unknown): boolean => REFERENCED.has(sqlState(error));

interface DatabaseError {
  code?: string;
  message: string;
  constraint_name?: string;
}

/**
 * What a broken constraint means to the caller, or null when the error is none. Each table names its
 * constraints' errors; a reference still in use is a conflict.
 */
export function constraintError(
  error: unknown,
  constraints: Constraints,
  uniqueIndexOf: (columns: string) => string | undefined = () => undefined,
): AppError | null {
  for (const cause of causes(error)) {
    if (REFERENCED.has(cause.code)) {
      return new AppError("conflict", "Cannot do this: other records refer to this one", { cause: error });
    }
    // A trigger says the name of the rule that it keeps.
    if (cause.code === "23P01" || cause.code === "SQLITE_CONSTRAINT_TRIGGER") {
      const broken = constraints[cause.constraint_name ?? cause.message]?.();
      if (broken) return broken;
    }
    if (cause.code === "23505" || cause.code?.startsWith("SQLITE_CONSTRAINT")) {
      const columns = /UNIQUE constraint failed: (.+)$/.exec(cause.message)?.[1];
      const name = cause.constraint_name ?? (columns === undefined ? undefined : uniqueIndexOf(columns));
      if (name === undefined) continue;
      return (
        constraints[name]?.() ??
        new AppError("conflict", "Cannot do this: it is already there", { cause: error })
      );
    }
  }
  return null;
}

/** Driver error codes that mean "temporarily unavailable". */
const UNAVAILABLE_CODES = new Set([
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "SQLITE_BUSY",
  "25006", // read_only_sql_transaction
  "53300", // too_many_connections
  "55P03", // lock_not_available
  "57014", // query_canceled
  "57P01", // admin_shutdown
  "57P02", // crash_shutdown
  "57P03", // cannot_connect_now
]);

/**
 * What a database or file system says that has no room or may not be written. SQLite's errors of input and output mostly
 * are of a full disk too, and it can't open its files on one that is read-only.
 */
const STORAGE_CODES = /^(SQLITE_(FULL|IOERR|READONLY|CANTOPEN).*|ENOSPC|EDQUOT|EROFS|EIO|EFBIG|53100|58030)$/;

/** What a database says that can't make sense of its own files. */
const DAMAGE_CODES = /^(SQLITE_(CORRUPT|NOTADB).*|XX001|XX002)$/;

/** Whether an error is that of a database whose files are damaged. */
export const isDamage = (error: unknown): boolean => DAMAGE_CODES.test(sqlState(error) ?? "");

/** The error of a database that can't answer or store now, or null when it is another. */
export function unavailableError(error: unknown): AppError | null {
  const state = sqlState(error);
  if (state === undefined) return null;
  if (DAMAGE_CODES.test(state)) return damagedError("records", error);
  if (STORAGE_CODES.test(state)) {
    const message = "Nothing can be stored now, the disk is full, read-only or fails: try again later";
    return new AppError("unavailable", message, { retry_after_s: 30, cause: error });
  }
  if (!UNAVAILABLE_CODES.has(state)) return null;
  return new AppError("unavailable", "The database can't be reached: try again", {
    retry_after_s: 1,
    cause: error,
  });
}

function causes(error: unknown): DatabaseError[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}
