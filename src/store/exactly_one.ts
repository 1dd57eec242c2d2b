/** The one row that a statement must have returned. Errors: throws when there is none or more than one. */
export function exactlyOne<T>(rows: T[]): T {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`Expected one row, got ${rows.length}`);
  return row;
}
