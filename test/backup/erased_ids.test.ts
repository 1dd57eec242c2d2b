import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readErasedIds } from "../../src/backup/erased_ids.ts";
import { openTarget } from "../../src/backup/open_target.ts";
import { unpackIds } from "../../src/usage/erasures/packed_ids.ts";
import { useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";
import { addSubscription, send, uuid } from "../usage/fixtures.ts";

const folder = mkdtempSync(join(tmpdir(), "erased-ids-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const BACKUP_URL = `file://${folder}`;
const service = useService({ env: { BACKUP_URL } });

test("the ids of erased events are written beside the backups, once", async () => {
  await addSubscription(service, "s1");
  await send(
    service.api,
    [1, 2, 3].map((n) => ({ id: uuid(n), external_subscription_id: "s1", usage: n, metadata: { n } })),
  );
  const beside = async () => {
    const rows = await Array.fromAsync(readErasedIds(openTarget(BACKUP_URL)));
    return rows.flatMap(({ company_id, ids }) => unpackIds(ids).map((id) => [company_id, id]));
  };
  await runNamedJob(service, "erased_ids");
  expect(await beside()).toEqual([]);
  await service.api("POST", "/usage/erasures", { ids: [uuid(2)] });
  await runNamedJob(service, "usage_erasures");
  await runNamedJob(service, "erased_ids");
  await runNamedJob(service, "erased_ids");
  expect(await beside()).toEqual([[service.company_id, uuid(2)]]);
});
