import { type ClickHouseServer, startClickHouse } from "./clickhouse.ts";
import { afterEverything } from "./preload.ts";
import { type S3Server, startS3 } from "./s3_server.ts";

let opened: Promise<{ clickhouse: ClickHouseServer; s3: S3Server }> | undefined;
let places = 0;
/** The buckets that were opened here. */
const buckets: S3Server[] = [];

/** What instances on one PostgreSQL have in common beside it: an empty ClickHouse database, a place in a bucket, and secrets. */
export async function makeSharedStores(): Promise<Record<string, string>> {
  opened ??= open();
  const { clickhouse, s3 } = await opened;
  return {
    USAGE_URL: await clickhouse.createDatabase(),
    USAGE_LANES: "2",
    DOCUMENTS_URL: `s3://bucket/place${++places}?endpoint=${s3.url}`,
    AWS_ACCESS_KEY_ID: "key",
    AWS_SECRET_ACCESS_KEY: "secret",
    JWT_SECRET: "j".repeat(32),
  };
}

/** The names of the objects at a place in a bucket; none where the bucket is a test's own. */
export function objectsAt({ endpoint, prefix }: { endpoint: string; prefix: string }): string[] {
  const keys =
    buckets
      .find(({ url }) => url === endpoint)
      ?.objects.keys()
      .toArray() ?? [];
  return keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
}

async function open(): Promise<{ clickhouse: ClickHouseServer; s3: S3Server }> {
  const [clickhouse, s3] = [await startClickHouse(), startS3()];
  buckets.push(s3);
  afterEverything(async () => {
    opened = undefined;
    await clickhouse.stop();
    await s3.stop();
  });
  return { clickhouse, s3 };
}
