import { Database } from "bun:sqlite";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Manifest, manifestName } from "../../src/backup/manifest.ts";
import { storeObject } from "../../src/backup/objects.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { piecesOf } from "../../src/backup/target.ts";
import { monthDigests } from "../../src/usage_store/duckdb/query/month_digests.ts";
import { TABLES } from "../../src/server/schema.ts";

export async function makePoint(
  data_dir: string,
  url: string,
  recipient: string | null = null,
): Promise<Manifest> {
  const target = openTarget(url);
  const work = join(data_dir, "work");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work);
  const db = new Database(join(data_dir, "meterhouse.sqlite"));
  db.run(`VACUUM INTO '${join(work, "rows")}'`);
  const counts = Object.fromEntries(
    Object.keys(TABLES).map((t) => [
      t,
      db.query<{ n: number }, []>(`select count(*) n from ${t}`).get()?.n ?? 0,
    ]),
  );
  db.close();
  const instance = await DuckDBInstance.create(join(data_dir, "usage.duckdb"));
  const connection = await instance.connect();
  const rows = await (await connection.run("select count(*), max(seq) from usage_events")).getRows();
  const [events, last_seq] = (rows[0] ?? []).map(Number);
  const half = Math.floor((last_seq ?? 0) / 2);
  const segments: Manifest["segments"] = [];
  for (const [from, to] of [
    [0, half],
    [half, last_seq ?? 0],
  ] as const) {
    const path = join(work, `${from}.parquet`);
    const where = `WHERE seq > ${from} AND seq <= ${to}`;
    await connection.run(`COPY (SELECT * FROM usage_events ${where}) TO '${path}' (FORMAT parquet)`);
    const [[n] = []] = await (await connection.run(`select count(*) from usage_events ${where}`)).getRows();
    const object = await storeObject(target, `usage/0/${from}-${to}.parquet`, path, recipient);
    segments.push({ ...object, lane: 0, from, to, events: Number(n) });
  }
  const digests = await monthDigests(connection, last_seq ?? 0);
  connection.closeSync();
  instance.closeSync();
  const documents: Manifest["documents"] = [];
  const folder = join(data_dir, "documents");
  for (const file of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!file.isFile()) continue;
    const company_id = Number(file.parentPath.split("/").at(-2));
    const name = `documents/${company_id}/${file.name}`;
    documents.push({
      ...(await storeObject(target, name, join(file.parentPath, file.name), recipient)),
      company_id,
    });
  }
  const instant = "2026-03-05T01:00:00.000Z";
  const manifest: Manifest = {
    format: 1,
    instant,
    program: "0.1.0",
    dialect: "sqlite",
    database_id: "x",
    last_seq: last_seq ?? 0,
    events: events ?? 0,
    digests,
    rows: await storeObject(target, `rows/${instant}.sqlite`, join(work, "rows"), recipient),
    counts,
    segments,
    documents,
  };
  await target.write(manifestName(instant), piecesOf(JSON.stringify(manifest)));
  return manifest;
}
