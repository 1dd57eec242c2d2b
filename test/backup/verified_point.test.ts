import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { openTarget } from "../../src/backup/open_target.ts";
import { openPoint } from "../../src/backup/restore/point.ts";
import { lastUnproved, lastVerified, saveReport } from "../../src/backup/verify/report.ts";
import { verifyPoint } from "../../src/backup/verify/verify.ts";
import { backUp } from "../../src/server/backups.ts";
import { billingRecordTable } from "../../src/billing/records/tables.ts";
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
    const options = {
      ...restoreNeeds(deps.config, deps.clock.now()),
      bills: 1_000,
      seed: 1,
      scratch: join(folder, "scratch"),
    };
    const report = await verifyPoint(point, options);
    expect(report.problems).toEqual([]);
    expect(report).toMatchObject({
      bills,
      events: manifest.events,
      documents: manifest.documents.length,
      bills_unproved: 0,
    });
    saveReport(folder, deps.clock.now(), report);
    const well_at = lastVerified(folder);

    const t = deps.store.read.use(billingRecordTable);
    await deps.store.tx(
      async (q) => void (await q.update(t).set({ totalCharges: "99.5" }).where(eq(t.id, 1))),
    );
    rmSync(join(folder, "backups"), { recursive: true });
    await backUp(deps);
    const wrong = await verifyPoint(await openPoint(openTarget(url), "latest", null), options);
    expect([wrong.bills_unproved, wrong.problems]).toEqual([
      1,
      [expect.stringContaining("Bill 1 of company")],
    ]);
    saveReport(folder, deps.clock.now().add({ hours: 1 }), wrong);
    expect([lastUnproved(folder), lastVerified(folder)]).toEqual([1, well_at]);
  } finally {
    await full.service.stop();
    rmSync(folder, { recursive: true });
  }
});
