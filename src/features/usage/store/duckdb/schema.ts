import { BIGINT, DECIMAL, INTEGER, UUID, VARCHAR } from "@duckdb/node-api";

/** The layout that this code reads and writes; a file with a higher one is refused. */
export const SCHEMA_VERSION = 1;

/** Up to twelve digits before the point and six after: the sums of it are exact. */
export const USAGE_TYPE = DECIMAL(18, 6);

/**
 * The columns of usage_events, in their order. `seq` numbers the rows in the order of commits, from 1, with
 * gaps where a commit failed; it finds a row without an index. There is no unique index on the id: it costs
 * more than the rest of the write, growing with the table.
 */
export const EVENT_COLUMNS = {
  seq: BIGINT,
  company_id: INTEGER,
  subscription_id: INTEGER,
  timestamp: BIGINT,
  id: UUID,
  usage: USAGE_TYPE,
  metadata: VARCHAR,
  created_at: BIGINT,
} as const;

/** Creates what is missing. usage_meta holds schema_version and fingerprint_key (16 bytes in hex). */
export const CREATE_TABLES = `
  CREATE TABLE IF NOT EXISTS usage_meta (name VARCHAR NOT NULL, value VARCHAR NOT NULL);
  CREATE TABLE IF NOT EXISTS usage_events (
    seq BIGINT NOT NULL,
    company_id INTEGER NOT NULL,
    subscription_id INTEGER NOT NULL,
    timestamp BIGINT NOT NULL,
    id UUID NOT NULL,
    usage DECIMAL(18,6) NOT NULL,
    metadata VARCHAR,
    created_at BIGINT NOT NULL
  );`;
