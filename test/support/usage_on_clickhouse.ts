import { TEST_STORE } from "./harness.ts";
import { whyNoClickHouse } from "./clickhouse.ts";

/** Why a service can't keep its usage in ClickHouse here, or null: its records are in PostgreSQL then. */
export function whyNoUsageOnClickHouse(): string | null {
  return TEST_STORE === "postgres"
    ? whyNoClickHouse()
    : "tests of usage in ClickHouse: they run on PostgreSQL";
}
