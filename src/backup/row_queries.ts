import { Database } from "bun:sqlite";
import type { StoredBlob } from "../store/blob_store.ts";

/** What a copy of the rows holds. */
export interface RowFacts {
  database_id: string;
  /** The highest number of a usage event that a bill counts. */
  usage_seq: number;
  /** Rows by table. */
  counts: Record<string, number>;
  /** The contents that documents refer to, each once. */
  documents: DocumentFacts[];
}

/** A content, and where it lies: any of its objects, or the file. */
type DocumentFacts = StoredBlob & { company_id: number };

/** A copy of before there were objects has no such column. */
const objectIn = (database: Database) =>
  database.query("SELECT 1 FROM pragma_table_info('loan_documents') WHERE name = 'object_id'").get() === null
    ? "NULL"
    : "max(object_id)";

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
        .query<DocumentFacts, []>(
          `SELECT company_id, sha256, size, ${objectIn(database)} AS object_id FROM loan_documents
           GROUP BY company_id, sha256, size ORDER BY company_id, sha256`,
        )
        .all(),
    };
  } finally {
    database.close();
  }
}

/** The documents that rows above an id refer to, each content once, and the highest id. */
export function documentsAfter(path: string, after: number): { last_id: number; documents: DocumentFacts[] } {
  const database = new Database(path, { readonly: true });
  try {
    database.run("PRAGMA busy_timeout = 5000");
    return database.transaction(() => ({
      last_id:
        database.query<{ id: number | null }, []>("SELECT max(id) AS id FROM loan_documents").get()?.id ?? 0,
      documents: database
        .query<DocumentFacts, [number]>(
          `SELECT company_id, sha256, size, ${objectIn(database)} AS object_id FROM loan_documents
           WHERE id > ? GROUP BY company_id, sha256, size ORDER BY company_id, sha256`,
        )
        .all(after),
    }))();
  } finally {
    database.close();
  }
}
