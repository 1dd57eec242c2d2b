/** The known name that a misspelt one most likely means; undefined where none is near. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const measured = known.map((candidate) => ({
    candidate,
    distance: editDistance(wanted, candidate.toLowerCase()),
  }));
  const [best] = measured.toSorted((a, b) => a.distance - b.distance);
  return best !== undefined && best.distance <= Math.max(2, wanted.length / 3) ? best.candidate : undefined;
}

/** ` (did you mean port?)`, or nothing. */
export function hint(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant === undefined ? "" : ` (did you mean ${meant}?)`;
}

/** Levenshtein's distance: characters to insert, delete or replace. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
