import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { openTarget } from "../../src/backup/open_target.ts";
import { openPoint } from "../../src/backup/restore/point.ts";
import { noteVerification } from "../../src/server/note_verification.ts";
import { saveReport } from "../../src/backup/verify/report.ts";
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
    const well_at = deps.clock.now();
    // Of two instances one has verified, and both say so.
    const [one, other] = ["one", "other"].map((name) => mkdtempSync(join(folder, `${name}-`)));
    const known = async () => [
      await noteVerification(deps.store, one ?? ""),
      await noteVerification(deps.store, other ?? ""),
    ];
    expect(await known()).toEqual([undefined, undefined]);
    saveReport(one ?? "", well_at, report);
    const well = { verified_at: well_at, well_at, bills_unproved: 0 };
    expect(await known()).toEqual([well, well]);

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
    const wrong_at = well_at.add({ hours: 1 });
    saveReport(other ?? "", wrong_at, wrong);
    await noteVerification(deps.store, other ?? "");
    const found = { verified_at: wrong_at, well_at, bills_unproved: 1 };
    expect(await known()).toEqual([found, found]);
  } finally {
    await full.service.stop();
    rmSync(folder, { recursive: true });
  }
});
