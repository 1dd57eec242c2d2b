import postgres from "postgres";

/**
 * Whether a PostgreSQL database holds nothing of ours or anybody's: no table, or our own without a company. Errors:
 * throws where it can't be asked.
 */
export async function isEmptyPostgres(url: string): Promise<boolean> {
  const connection = postgres(url, { max: 1, fetch_types: false, connect_timeout: 10 });
  try {
    const tables = await connection`
      SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`;
    if (tables.length === 0) return true;
    if (!tables.some(({ name }) => name === "companies")) return false;
    return (await connection`SELECT id FROM companies LIMIT 1`).length === 0;
  } finally {
    await connection.end({ timeout: 5 });
  }
}
