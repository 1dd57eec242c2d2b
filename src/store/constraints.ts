import { AppError } from "../core/errors.ts";
import { CONSTRAINTS } from "./tables.ts";

/** The SQLSTATE of a database error, also when the query builder has wrapped it. */
export function sqlState(error: unknown): string | undefined {
  return causes(error)
    .map((cause) => cause.code)
    .find((code) => code !== undefined);
}

interface DatabaseError {
  code?: string;
  message: string;
  constraint_name?: string;
}

/**
 * What a broken constraint means to the caller, or null when the error is none. Each table names its
 * constraints' errors; a reference still in use is a conflict.
 */
export function refusal(
  error: unknown,
  uniqueIndexOf: (columns: string) => string | undefined = () => undefined,
): AppError | null {
  for (const cause of causes(error)) {
    if (cause.code === "23503" || cause.code === "SQLITE_CONSTRAINT_FOREIGNKEY") {
      return new AppError("conflict", "Cannot do this: other records refer to this one", { cause: error });
    }
    if (cause.code === "23505" || cause.code?.startsWith("SQLITE_CONSTRAINT")) {
      const columns = /UNIQUE constraint failed: (.+)$/.exec(cause.message)?.[1];
      const name = cause.constraint_name ?? (columns === undefined ? undefined : uniqueIndexOf(columns));
      if (name === undefined) continue;
      return (
        CONSTRAINTS[name]?.() ??
        new AppError("conflict", "Cannot do this: it is already there", { cause: error })
      );
    }
  }
  return null;
}

function causes(error: unknown): DatabaseError[] {
  return error instanceof Error ? [error, ...causes(error.cause)] : [];
}
