import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type Json, PASSWORD } from "../../support/harness.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

const limits = useLimits();

/** A block of an import, of rows of id, external_subscription_id, timestamp and usage. */
async function blockOf(rows: readonly (readonly string[])[]): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-reserved-"));
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const path = join(folder, "block.parquet");
    const values = rows.map((row) => `(${row.map((text) => `'${text}'`).join(", ")}, NULL::VARCHAR)`);
    const names = "id, external_subscription_id, timestamp, usage, metadata";
    await connection.run(
      `COPY (SELECT * FROM (VALUES ${values.join(", ")}) AS t(${names})) TO '${path}' (FORMAT parquet)`,
    );
    return readFileSync(path);
  } finally {
    connection.closeSync();
    instance.closeSync();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function importRows(company: LimitedCompany, rows: readonly (readonly string[])[]): Promise<Json> {
  const { service } = limits;
  const credentials = { email: company.admin_email, password: PASSWORD };
  const { body } = await service.anonymous("POST", "/login", credentials);
  const answer = await fetch(`${service.url}/api/v1/usage/import`, {
    method: "POST",
    body: await blockOf(rows),
    headers: {
      authorization: `Bearer ${body.token}`,
      "content-type": "application/vnd.apache.parquet",
    },
  });
  expect(answer.status).toBe(200);
  const imported: Json = await answer.json();
  return imported.data;
}

test("rows of an import settle reservations, and are refused under those of another subscription", async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  const company = await limits.addLimited();
  const [mine, theirs] = [await company.entitle(MONTHLY), await company.entitle(MONTHLY)];
  const reserve = async (units: number): Promise<string> =>
    (await company.check(mine.external, { units, reserve_s: 60 })).body.data.reservation.id;
  const left = async ({ external }: { external: string }) => {
    const { used, reserved, remaining } = (await company.check(external)).body.data;
    return { used, reserved, remaining };
  };
  const [settled, kept] = [await reserve(10), await reserve(20)];
  await left(theirs);
  const timestamp = "2026-03-10T11:00:00Z";
  const imported = await importRows(company, [
    [settled, mine.external, timestamp, "3"],
    [kept, theirs.external, timestamp, "4"],
    [crypto.randomUUID(), theirs.external, timestamp, "5"],
  ]);
  expect(imported).toMatchObject({ accepted: 2, duplicates: 0, rejected: 1 });
  expect(imported.rejected_rows).toEqual([{ row: 2, reason: "id is a reservation of another subscription" }]);
  expect(await left(mine)).toEqual({ used: "3", reserved: "20", remaining: "977" });
  expect((await left(theirs)).used).toBe("5");
  expect((await company.send(mine.external, { id: kept, usage: 6 })).status).toBe(201);
  expect(await left(mine)).toEqual({ used: "9", reserved: "0", remaining: "991" });
});

test("a row and an event under one reservation, sent at once, settle it once", async () => {
  limits.clock.set("2026-03-10T12:00:00Z");
  const company = await limits.addLimited();
  const { external } = await company.entitle(MONTHLY);
  const { body } = await company.check(external, { units: 5, reserve_s: 60 });
  const { id } = body.data.reservation;
  const at = "2026-03-10T11:00:00Z";
  const [imported, sent] = await Promise.all([
    importRows(company, [[id, external, at, "3"]]),
    company.send(external, { id, usage: 3, timestamp: Date.parse(at) }),
  ]);
  expect([sent.status, imported.rejected]).toEqual([201, 0]);
  expect(imported.accepted + sent.body.data.accepted).toBe(1);
  expect((await company.check(external)).body.data).toMatchObject({ used: "3", reserved: "0" });
});
