import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manifestName } from "../../src/backup/manifest.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { listPoints, readPoint } from "../../src/backup/points.ts";
import { takePoint } from "../../src/backup/take_point.ts";
import { backUp } from "../../src/server/backups.ts";
import { TABLES } from "../../src/server/schema.ts";
import { type BillingFixture, openBillingFixture, PER_UNIT } from "../billing/fixtures.ts";
import { runHere } from "../support/process.ts";

const folder = mkdtempSync(join(tmpdir(), "damaged-place-"));
const url = `file://${folder}`;
const target = openTarget(url);
let billing: BillingFixture;

beforeAll(async () => {
  billing = await openBillingFixture({ BACKUP_URL: url });
  billing.clock.set("2026-03-01T02:00:00Z");
  const company = await billing.addCompany({});
  await company.use(await company.subscribe(PER_UNIT), ["2026-02-05T10:00:00Z", "7.5"]);
});
afterAll(async () => {
  await billing.service.stop();
  rmSync(folder, { recursive: true });
});

test("a point taken after the clock was set back is the latest, and stays", async () => {
  const { clock, service } = billing;
  const ahead = await backUp(service.deps);
  clock.set("2026-03-01T01:00:00Z");
  const taken = await backUp(service.deps);
  expect(taken.manifest.instant).toBe("2026-03-01T02:00:00.001Z");
  expect((await listPoints(target)).at(-1)).toBe(taken.manifest.instant);
  expect(taken.problems).toEqual([expect.stringContaining(`newest point is of ${ahead.manifest.instant}`)]);
  expect(taken.manifest.segments).toEqual(ahead.manifest.segments);
});

test("a newest manifest that can't be read is reported, and the next point shares with the one before", async () => {
  const { clock, service } = billing;
  clock.set("2026-03-02T02:00:00Z");
  const before = await backUp(service.deps);
  expect(before.problems).toEqual([]);
  const damaged = manifestName("2026-03-02T03:00:00.000Z");
  writeFileSync(join(folder, damaged), '{"format":');
  writeFileSync(join(folder, "points/notes.json"), "not ours");
  clock.set("2026-03-03T02:00:00Z");
  const taken = await backUp(service.deps);
  expect(taken.problems).toEqual([`Cannot read ${damaged}: it is no JSON`]);
  expect(taken.manifest.segments).toEqual(before.manifest.segments);
  expect((await readPoint(target, taken.manifest.instant)).events).toBe(1);
  const listed = await runHere(["backup", "list", "--from", url], {});
  expect(listed).toMatchObject({ code: 1, err: expect.stringContaining(`Cannot read ${damaged}`) });
  expect(listed.out).toContain(taken.manifest.instant);
  rmSync(join(folder, damaged));
});

test("a backup that fails at its beginning holds no removal up", async () => {
  const { store, usage, documents, clock, config } = billing.service.deps;
  let held = 0;
  const source = {
    store,
    database_url: config.database_url,
    data_dir: config.data_dir,
    tables: Object.values(TABLES),
    target,
    recipient: null,
    now: clock.now(),
    isStopping: () => false,
    documents: Object.assign(Object.create(documents), { holdRemovals: () => (held++, () => void held--) }),
    usage: Object.assign(Object.create(usage), {
      holdRemovals: () => Promise.reject(new Error("the usage store is gone")),
    }),
  };
  expect(await takePoint(source).catch(String)).toContain("the usage store is gone");
  expect(held).toBe(0);
});
