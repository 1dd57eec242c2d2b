/** SQL of the division of a whole number that is not negative. */
type Divide = (dividend: string, divisor: number) => string;

/** Buckets of one width, one after the other. The last one may be of another width. */
interface Stretch {
  from_ms: number;
  /** Undefined for a single bucket. */
  width_ms?: number;
  first: number;
  last: number;
}

/**
 * SQL of the bucket of an instant: a division in a stretch of buckets of one width, which a change of the clock or a month
 * ends, after the few comparisons that find the stretch. What is before the first bucket is in it.
 */
export function bucketSql(at: string, edges: readonly number[], divide: Divide): string {
  const sqlOf = ([stretch, ...others]: readonly Stretch[]): string => {
    if (stretch === undefined) return "0";
    if (others.length === 0) return placeSql(at, stretch, divide);
    const before = [stretch, ...others].slice(0, Math.ceil((others.length + 1) / 2));
    const after = others.slice(before.length - 1);
    return `CASE WHEN ${at} < ${after[0]?.from_ms} THEN ${sqlOf(before)} ELSE ${sqlOf(after)} END`;
  };
  return sqlOf(stretchesOf(edges));
}

function placeSql(at: string, { from_ms, width_ms, first, last }: Stretch, divide: Divide): string {
  return width_ms === undefined
    ? `${first}`
    : `least(${first} + ${divide(`${at} - ${from_ms}`, width_ms)}, ${last})`;
}

function stretchesOf(edges: readonly number[]): Stretch[] {
  // Of buckets that begin at one instant only the last holds events.
  const starts = [...new Map(edges.slice(0, -1).map((edge, bucket) => [edge, bucket]))];
  const stretches: Stretch[] = [];
  let before_ms = 0;
  for (const [i, [from_ms, bucket]] of starts.entries()) {
    const stretch = stretches.at(-1);
    const width_ms = from_ms - before_ms;
    // The first bucket stands alone: it may be cut, and holds the hour that the start cuts.
    const joins =
      i > 1 &&
      stretch !== undefined &&
      bucket === stretch.last + 1 &&
      (stretch.width_ms ?? width_ms) === width_ms;
    if (joins) stretches[stretches.length - 1] = { ...stretch, width_ms, last: bucket };
    else stretches.push({ from_ms, first: bucket, last: bucket });
    before_ms = from_ms;
  }
  return stretches;
}
