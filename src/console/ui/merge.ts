/** What is typed into a form, by field. */
export type Values = Record<string, unknown>;

export const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface Conflict {
  /** A JSON pointer. */
  path: string;
  theirs: unknown;
}

/**
 * A three-way merge of a form's values: what one changed goes onto what others saved since. Lists are changed as a
 * whole, objects field by field. In a conflict, where both changed the same, one's own value is taken.
 */
export function merge(
  base: Values,
  mine: Values,
  theirs: Values,
  at = "",
): { values: Values; conflicts: Conflict[] } {
  const values: Values = { ...theirs };
  const conflicts: Conflict[] = [];
  for (const [name, value] of Object.entries(mine)) {
    const path = `${at}/${name}`;
    const [before, now] = [base[name], theirs[name]];
    if (isSame(value, before)) continue;
    if (isObject(value) && isObject(before) && isObject(now)) {
      const inside = merge(before, value, now, path);
      values[name] = inside.values;
      conflicts.push(...inside.conflicts);
      continue;
    }
    values[name] = value;
    if (!isSame(now, before) && !isSame(now, value)) conflicts.push({ path, theirs: now });
  }
  return { values, conflicts };
}

/** Whether two values of a field are the same; nothing is the same as an empty text. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, i) => isSame(item, other[i]));
  if (isObject(one) && isObject(other))
    return Object.keys({ ...one, ...other }).every((name) => isSame(one[name], other[name]));
  return one === other || (isNothing(one) && isNothing(other));
}

export const isNothing = (value: unknown) => value === undefined || value === null || value === "";
