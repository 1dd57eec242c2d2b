import { type DuckDBConnection, DuckDBListValue } from "@duckdb/node-api";
import type { KeysQuery, KeysResult, KeyUse, SearchQuery } from "../../port.ts";
import { cutSql, isContainerSql, pointer, pointersOf, readScalar } from "./metadata_sql.ts";
import { besideSql, orderSql, placeByTime } from "./search.ts";
import { asNumber, asText, asUuid, Parameters, query } from "../engine/sql.ts";

/** A metadata path: its keys, and its name in a filter. */
interface Path {
  keys: string[];
  name: string;
}

/** A path's use: in how many events it has a scalar, and whether an object or array in any. */
interface Found extends KeyUse {
  path: Path;
  has_inside: boolean;
}

/** SQL of the metadata of the sampled events. */
type Sample = (parameters: Parameters) => string;

/**
 * The keys of the newest events, level by level: first the keys, then their values. `connection` is in a transaction.
 * The events are scanned in the engine; the result is bounded. `has_few`: as of `Companies`.
 */
export async function metadataKeys(
  connection: DuckDBConnection,
  wanted: KeysQuery,
  has_few: boolean,
): Promise<KeysResult> {
  const newest: SearchQuery = {
    ...wanted,
    sort_by: "timestamp",
    sort_order: "desc",
    limit: wanted.max_events,
    offset: 0,
  };
  const { total, where } = await placeByTime(connection, newest, has_few);
  if (where === undefined) return { keys: [], events: 0, all_events: true, all_keys: true };
  const { events, sample } = await sampleOf(connection, newest, where, wanted.max_bytes);
  const found = new Map<string, Found>();
  let all_keys = true;
  let inside: Path[] = [{ keys: [], name: "" }];
  for (let depth = 1; depth <= wanted.max_depth && inside.length > 0; depth++) {
    const paths = await findPaths(connection, sample, inside, wanted);
    if (paths.length > wanted.max_keys) all_keys = false;
    const values = await findValues(connection, sample, paths.slice(0, wanted.max_keys), wanted);
    // A whole key of the same name takes precedence, as in filters.
    for (const value of values) if (!found.has(value.key)) found.set(value.key, value);
    inside = values.flatMap(({ path, has_inside }) => (has_inside && isReachable(path) ? [path] : []));
  }
  const keys = [...found.values()]
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
  return {
    events,
    all_events: events === total,
    keys: keys.slice(0, wanted.max_keys).map(({ key, count, samples }) => ({ key, count, samples })),
    all_keys: all_keys && inside.length === 0 && keys.length <= wanted.max_keys,
  };
}

/** The newest events within the bounds, and their number. */
async function sampleOf(
  connection: DuckDBConnection,
  newest: SearchQuery,
  where: Sample,
  max_bytes: number,
): Promise<{ events: number; sample: Sample }> {
  const parameters = new Parameters();
  const [[timestamp, id, events] = []] = await query(
    connection,
    `SELECT timestamp, id, events FROM (
      SELECT timestamp, id, row_number() OVER newest AS events, sum(bytes) OVER newest AS bytes
      FROM (SELECT timestamp, id, coalesce(strlen(metadata), 0) AS bytes FROM usage_events WHERE ${where(parameters)}
        ${orderSql(newest)} LIMIT ${parameters.integer(newest.limit)})
      WINDOW newest AS (${orderSql(newest)} ROWS UNBOUNDED PRECEDING))
    WHERE events = 1 OR bytes <= ${parameters.integer(max_bytes)} ORDER BY events DESC LIMIT 1`,
    parameters,
  );
  const last = { value: String(asNumber(timestamp)), id: asUuid(id).toString() };
  return {
    events: asNumber(events),
    sample: (into) =>
      `SELECT metadata FROM usage_events WHERE ${where(into)} AND ${besideSql(newest, ">=", last, into)}`,
  };
}

/** The keys of the values at `places`, the most frequent first; one more than `max_keys` if there are more. */
async function findPaths(
  connection: DuckDBConnection,
  sample: Sample,
  places: readonly Path[],
  { max_keys, max_key_length, max_elements }: KeysQuery,
): Promise<Path[]> {
  const parameters = new Parameters();
  const pointers = parameters.texts(places.map(({ keys }) => pointer(keys)));
  // Filters take a dot in a key as a step of the path, unless the key stands at the top.
  const is_top = places[0]?.keys.length === 0;
  const rows = await query(
    connection,
    `SELECT place, key FROM (
      SELECT place, unnest(CASE json_type(json) WHEN 'OBJECT' THEN json_keys(json) WHEN 'ARRAY' THEN
        list_transform(range(least(json_array_length(json), ${max_elements})::BIGINT), lambda i: i::VARCHAR) END) AS key
      FROM (SELECT unnest(range(${places.length})) AS place, unnest(json_extract(metadata, ${pointers})) AS json
        FROM (${sample(parameters)})))
    WHERE length(key) <= ${max_key_length} ${is_top ? "" : "AND NOT contains(key, '.')"}
    GROUP BY ALL ORDER BY count(*) DESC, key, place LIMIT ${max_keys + 1}`,
    parameters,
  );
  return rows.map(([place, key]) => {
    const keys = [...(places[asNumber(place)]?.keys ?? []), asText(key)];
    return { keys, name: keys.join(".") };
  });
}

/** The values of the paths, looked up as by filters. */
async function findValues(
  connection: DuckDBConnection,
  sample: Sample,
  paths: readonly Path[],
  { max_samples, max_sample_length }: KeysQuery,
): Promise<Found[]> {
  if (paths.length === 0) return [];
  const parameters = new Parameters();
  const pointers: string[] = [];
  const found = paths.map(({ name }) => {
    const places = pointersOf(name).map((place) => `found[${pointers.push(place)}]`);
    return `coalesce(${places.join(", ")})`;
  });
  // A whole key of the same name hides the value at the place itself from filters, but not the values inside it.
  const columns = paths.map(({ keys }) => `found[${pointers.push(pointer(keys))}]`);
  const rows = await query(
    connection,
    `SELECT path, coalesce(sum(events) FILTER (text IS NOT NULL), 0), count(*) FILTER (has_inside),
      arg_max(text, events, ${max_samples}) FILTER (text IS NOT NULL)
    FROM (SELECT path, if(${isContainerSql("json")}, NULL, ${cutSql("json", max_sample_length, parameters)}) AS text,
        count(*) AS events, bool_or(${isContainerSql("own")}) AS has_inside
      FROM (SELECT unnest(range(${paths.length})) AS path, unnest([${found.join(", ")}])::VARCHAR AS json,
          unnest([${columns.join(", ")}])::VARCHAR AS own
        FROM (SELECT json_extract(metadata, ${parameters.texts(pointers)}) AS found FROM (${sample(parameters)})))
      WHERE json IS NOT NULL OR own IS NOT NULL GROUP BY path, text)
    GROUP BY path`,
    parameters,
  );
  return rows.flatMap(([position, count, containers, texts]) => {
    const path = paths[asNumber(position)];
    const samples =
      texts instanceof DuckDBListValue ? texts.items.map((text) => readScalar(asText(text))) : [];
    if (path === undefined) return [];
    return [
      {
        path,
        key: path.name,
        count: asNumber(count),
        samples: [...new Set(samples)],
        has_inside: asNumber(containers) > 0,
      },
    ];
  });
}

/** Whether a dot path can name the values inside. */
function isReachable({ keys }: Path): boolean {
  return !keys.some((key) => key.includes("."));
}
