import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openTarget } from "../../src/backup/open_target.ts";
import { openPoint } from "../../src/backup/restore/point.ts";
import { verifyPoint } from "../../src/backup/verify/verify.ts";
import { backUp } from "../../src/server/backups.ts";
import { restoreNeeds } from "../../src/server/restore_needs.ts";
import { addDocuments, openFullService, proveAll } from "./full_service.ts";

test("a point of two companies with bills, debits and documents is verified whole", async () => {
  const folder = mkdtempSync(join(tmpdir(), "verified-"));
  const url = `file://${folder}/backups`;
  const full = await openFullService({ BACKUP_URL: url });
  const { deps } = full.service;
  try {
    await addDocuments(full);
    const bills = await proveAll(deps);
    const { manifest, damaged_documents } = await backUp(deps);
    expect(damaged_documents).toEqual([]);
    expect(manifest.documents.length).toBeGreaterThan(0);
    expect(new Set(manifest.digests.map(({ company_id }) => company_id)).size).toBe(2);
    const point = await openPoint(openTarget(url), "latest", null);
    const report = await verifyPoint(point, {
      ...restoreNeeds(deps.config, deps.clock.now()),
      bills: 1_000,
      seed: 1,
      scratch: join(folder, "scratch"),
    });
    expect(report.problems).toEqual([]);
    expect(report).toMatchObject({
      bills,
      events: manifest.events,
      documents: manifest.documents.length,
    });
  } finally {
    await full.service.stop();
    rmSync(folder, { recursive: true });
  }
});
