import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { PRODUCT_KEYS, type ProductKey } from "../cast/catalog.ts";
import type { Rhythm } from "../cast/clients.ts";
import { blocksOf } from "../../usage/import/blocks.ts";
import { LIMITS } from "../../usage/limits.ts";
import type { EventBlock } from "../../usage_store/duckdb/append/event_block.ts";
import { quartersOf } from "./shapes.ts";

/** So many events of a subscription on a day. */
export interface DayOfUsage {
  /** The place of the subscription in the keys of the import. */
  code: number;
  /** A number that the subscription has whatever else is made. */
  number: number;
  product: ProductKey;
  rhythm: Rhythm;
  /** How many people use it. */
  people: number;
  /** The day counted from the first one, and the instant at which it begins. */
  day: number;
  day_ms: number;
  events: number;
}

/** Only events from `from_ms` (inclusive) to `until_ms` (exclusive). */
export interface Stretch {
  from_ms: number;
  until_ms: number;
}

/** What decides all that a day's number of events leaves open. */
interface Made {
  seed: number;
  /** How many times the units of the whole demo an event has: where there are fewer, sums are as large. */
  times: number;
}

/** Makes events by an engine in memory: the same ones for the same days and seed. */
export class UsageRows {
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #made: Made;

  private constructor(instance: DuckDBInstance, connection: DuckDBConnection, made: Made) {
    this.#instance = instance;
    this.#connection = connection;
    this.#made = made;
  }

  static async open(made: Made): Promise<UsageRows> {
    const instance = await DuckDBInstance.create(":memory:", {
      threads: String(LIMITS.usage_import_threads),
      // Blocks are stored in the order of time.
      preserve_insertion_order: "true",
      memory_limit: LIMITS.usage_import_memory,
      autoinstall_known_extensions: "false",
      autoload_known_extensions: "false",
      allow_community_extensions: "false",
    });
    const connection = await instance.connect();
    for (const [number, rhythm] of RHYTHMS.entries())
      await connection.run(`SET VARIABLE ${quartersOfRhythm(number)} = [${quartersOf(rhythm).join()}]`);
    return new UsageRows(instance, connection, made);
  }

  /** The events of these days in the order of time, block by block. */
  async *blocks(days: readonly DayOfUsage[], stretch: Stretch): AsyncGenerator<EventBlock> {
    const wanted = days.filter(({ events }) => events > 0);
    if (wanted.length === 0) return;
    const values = wanted.map(
      ({ code, number, product, rhythm, people, day, day_ms, events }) =>
        `(${[code, number, PRODUCT_KEYS.indexOf(product), RHYTHMS.indexOf(rhythm), people, day, day_ms, events].join()})`,
    );
    await this.#connection.run(
      `CREATE OR REPLACE TEMP TABLE days (code INTEGER, number BIGINT, kind INTEGER, rhythm INTEGER, people INTEGER,
        day INTEGER, day_ms BIGINT, events INTEGER)`,
    );
    await this.#connection.run(`INSERT INTO days VALUES ${values.join()}`);
    yield* blocksOf(this.#connection, eventsSql(this.#made, stretch), { size: LIMITS.usage_import_block });
  }

  close(): void {
    this.#connection.closeSync();
    this.#instance.closeSync();
  }
}

/** The variable with the quarters of an hour that a thousand events are in. */
const quartersOfRhythm = (number: number) => `quarters_${number}`;

const RHYTHMS: readonly Rhythm[] = ["office", "shop", "night"];

/** On which day the model horn-large-2 came, which takes over from the one before within months. */
const LAUNCH_DAY = 240;

/** Selects the columns that EventBlock takes. Metadata is canonical: keys in order, no spaces. */
function eventsSql({ seed, times }: Made, { from_ms, until_ms }: Stretch): string {
  // Numbers that look random: each hash is of the subscription, the day, the event and the seed.
  const hashed = ["when", "what", "who"].map(
    (name, salt) => `hash(number, day, i, ${seed * 10 + salt}) AS h_${name}`,
  );
  const each = `SELECT *, ${hashed.join(", ")} FROM (SELECT *, unnest(range(events)) AS i FROM days)`;
  const quarters = RHYTHMS.map(
    (_, number) =>
      `WHEN rhythm = ${number} THEN getvariable('${quartersOfRhythm(number)}')[1 + (h_when % 1000)::INTEGER]`,
  ).join(" ");
  const placed = `SELECT *,
      day_ms + (CASE ${quarters} END) * 900000 + ((h_when // 1000) % 900000)::BIGINT AS timestamp,
      (h_what % 10007) / 10007.0 AS share, ((h_what // 10007) % 9973) / 9973.0 AS other,
      CASE WHEN h_who % 100 < 70 THEN 'kul' WHEN h_who % 100 < 90 THEN 'sin' ELSE 'jkt' END AS region,
      'u-' || lpad(((h_who // 100) % people)::VARCHAR, 3, '0') AS person,
      (h_who // 1000000) % 100 AS dice
    FROM (${each})`;
  const counted = `SELECT *, (${times} * least(200 + floor(700 * pow(1 - share, -0.45)), 60000))::BIGINT AS input_tokens,
      (${times} * (60 + floor(900 * other * other)))::BIGINT AS output_tokens
    FROM (${placed}) WHERE timestamp >= ${from_ms} AND timestamp < ${until_ms}`;
  return `SELECT 0::INTEGER, code, timestamp, md5(concat_ws('-', number, day, i, ${seed}))::UUID,
      (CASE kind WHEN 0 THEN input_tokens + output_tokens WHEN 1 THEN ${times} * (2000 + floor(36000 * share))
        WHEN 2 THEN ${times} * (1 + floor(11 * share * share)) WHEN 3 THEN ${times} * round(5 + 240 * share * other, 1)
        ELSE ${times} * (1 + floor(3 * share * share)) END)::DECIMAL(18,6),
      CASE kind WHEN 0 THEN concat('{"input_tokens":', input_tokens, ',"model":"', ${CHAT_MODEL},
          '","output_tokens":', output_tokens, ',"region":"', region, '","user":"', person, '"}')
        WHEN 1 THEN concat('{"model":"horn-embed","region":"', region, '","source":"', ${oneOf("files", "tickets", "web")}, '"}')
        WHEN 2 THEN concat('{"document":"', ${oneOf("contract", "invoice", "receipt", "statement")},
          '","language":"', ${oneOf("en", "ms", "zh")}, '","region":"', region, '"}')
        WHEN 3 THEN concat('{"language":"', ${oneOf("en", "ms", "zh")}, '","model":"horn-voice","region":"', region,
          '","user":"', person, '"}')
        ELSE concat('{"model":"horn-paint","region":"', region, '","size":"', ${oneOf("1024x1024", "1792x1024", "512x512")},
          '","user":"', person, '"}') END
    FROM (${counted}) ORDER BY timestamp`;
}

const CHAT_MODEL = `CASE WHEN dice < 55 THEN 'horn-mini' WHEN dice < 70 THEN 'horn-code'
    WHEN dice < 70 + 24 * greatest(0, least(1, (day - ${LAUNCH_DAY}) / 80.0)) THEN 'horn-large-2' ELSE 'horn-large' END`;

/** One of these, the first of them most often. */
function oneOf(...values: readonly string[]): string {
  const listed = values.map((value) => `'${value}'`).join();
  return `[${listed}][1 + floor(other * other * ${values.length})::INTEGER]`;
}
