import { Database } from "bun:sqlite";

/** What a copy of the rows holds. */
export interface RowFacts {
  database_id: string;
  /** The highest number of a usage event that a bill counts. */
  usage_seq: number;
  /** Rows by table. */
  counts: Record<string, number>;
  /** The contents that documents refer to, each once. */
  documents: { company_id: number; sha256: string; size: number }[];
}

/** Reads what a copy of the rows holds. Errors: throws where the database was never used by a server. */
export function readFacts(path: string): RowFacts {
  const database = new Database(path, { readonly: true });
  try {
    const tables = database
      .query<{ name: string }, []>(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
      )
      .all();
    const count = (table: string) =>
      database.query<{ n: number }, []>(`SELECT count(*) AS n FROM "${table}"`).get()?.n ?? 0;
    const link = database.query<{ database_id: string }, []>("SELECT database_id FROM usage_link").get();
    if (!link) throw new Error("Cannot back up a database that no server has used yet");
    const counted = database
      .query<{ seq: number | null }, []>("SELECT max((SELECT max(usage_seq) FROM billing_records), 0) AS seq")
      .get();
    return {
      database_id: link.database_id,
      usage_seq: counted?.seq ?? 0,
      counts: Object.fromEntries(tables.map(({ name }) => [name, count(name)])),
      documents: database
        .query<{ company_id: number; sha256: string; size: number }, []>(
          "SELECT DISTINCT company_id, sha256, size FROM loan_documents ORDER BY company_id, sha256",
        )
        .all(),
    };
  } finally {
    database.close();
  }
}

/** The documents that rows above an id refer to, each content once, and the highest id. */
export function documentsAfter(
  path: string,
  after: number,
): { last_id: number; documents: { company_id: number; sha256: string; size: number }[] } {
  const database = new Database(path, { readonly: true });
  try {
    database.run("PRAGMA busy_timeout = 5000");
    return database.transaction(() => ({
      last_id:
        database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM loan_documents").get()?.id ?? 0,
      documents: database
        .query<{ company_id: number; sha256: string; size: number }, [number]>(
          "SELECT DISTINCT company_id, sha256, size FROM loan_documents WHERE id > ? ORDER BY company_id, sha256",
        )
        .all(after),
    }))();
  } finally {
    database.close();
  }
}
