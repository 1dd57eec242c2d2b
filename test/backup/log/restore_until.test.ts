import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { LogShipping } from "../../../src/backup/log/ship_log.ts";
import { examine } from "../../../src/cli/examine.ts";
import { readConfig } from "../../../src/core/config.ts";
import { exitCodeOf } from "../../../src/core/exit_codes.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { openShipping } from "../../../src/server/ship_log.ts";
import type { WindowTotal } from "../../../src/usage_store/port.ts";
import { readMetrics } from "../../support/harness.ts";
import { runHere } from "../../support/process.ts";
import { whyNoSqlite } from "../../support/why_no_sqlite.ts";
import {
  addDocuments,
  digestsOf,
  type FullService,
  openFullService,
  proveAll,
  type TableDigest,
} from "../full_service.ts";

// Everything that is on record, through the command: shipping.test.ts has what can go wrong on the way.

const reason = whyNoSqlite();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("a restore of an instant", () => {
  const folder = mkdtempSync(join(tmpdir(), "until-"));
  const url = `file://${folder}/backups`;
  const BEGUN = "2026-03-06T10:00:00Z";
  const SHIPPED = "2026-03-06T10:01:00Z";
  const LATER = "2026-03-06T10:02:00Z";

  let full: FullService;
  let shipping: LogShipping;
  let before: Record<string, TableDigest>;
  let usage: WindowTotal[];
  let bills: number;

  async function usageOf(deps: FullService["service"]["deps"]): Promise<WindowTotal[]> {
    const { company_id = 0, subscriptions = [] } = full.companies[0] ?? {};
    const windows = subscriptions.map((subscription_id) => ({
      subscription_id,
      start_ms: 0,
      end_ms: Date.UTC(2030, 0),
    }));
    return deps.usage.totals(company_id, windows, { timeout_ms: 5_000 });
  }

  /** New usage, for a bill that counts it. */
  async function use(units: string): Promise<void> {
    for (const company of full.companies) {
      const [first = 0] = company.subscriptions;
      await company.use(first, ["2026-02-20T00:00:00Z", units]);
    }
  }

  beforeAll(async () => {
    full = await openFullService({ BACKUP_URL: url, BACKUP_LOG: "PT10S" });
    const { clock, service } = full;
    const opened = await openShipping(service.deps);
    if (!opened) throw new Error("The log is not shipped");
    shipping = opened;
    clock.set(BEGUN);
    await shipping.shipNow();
    clock.set(SHIPPED);
    await addDocuments(full);
    await use("17.5");
    for (const company of full.companies) await company.run({ period: "2026-02" });
    // What goes on behind the requests would change rows after they are compared.
    await service.deps.background.stop();
    bills = await proveAll(service.deps);
    before = await digestsOf(service.deps.store);
    usage = await usageOf(service.deps);
    await shipping.shipNow();
    clock.set(LATER);
    await use("900");
    for (const { api } of full.companies)
      expect((await api("POST", "/clients", { name: "later" })).status).toBe(201);
    await shipping.shipNow();
  });
  afterAll(async () => {
    await shipping.stop();
    await full.service.stop();
    rmSync(folder, { recursive: true });
  });

  const restore = (...words: string[]) =>
    runHere(["restore", "latest", ...words, "--from", url], { USAGE_MEMORY_LIMIT: "512MB" });

  test("an instant between two shipments is restored as it was at the first: rows, usage, documents, bills", async () => {
    const data_dir = join(folder, "restored");
    const done = await restore("--to", data_dir, "--until", "2026-03-06T11:01:30+01:00");
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toContain("with its log up to 2026-03-06T10:01:00.000Z");
    expect(done.out).toContain("2 documents");
    const deps = await openDeps(
      readConfig({ DATA_DIR: data_dir, LOG_LEVEL: "fatal", USAGE_MEMORY_LIMIT: "512MB" }),
    );
    try {
      const after = await digestsOf(deps.store);
      expect(after.clients).toEqual(before.clients);
      const changed = Object.keys(after).filter((name) => after[name]?.digest !== before[name]?.digest);
      expect(changed).toEqual(["usage_link", "debit_holds"]);
      expect(await usageOf(deps)).toEqual(usage);
      expect(await proveAll(deps)).toBe(bills);
      expect(await deps.usage.check(null, 5_000)).toMatchObject({ different: 0 });
    } finally {
      await deps.close();
    }
  });

  test("an instant that the log does not cover is refused with those that it does", async () => {
    const allowed = "allows 2026-03-06T10:00:00.000Z to 2026-03-06T10:02:00.000Z";
    for (const until of ["2026-03-06T09:59:59.999Z", "2026-03-06T10:02:00.001Z"]) {
      const refused = await restore("--to", join(folder, "nowhere"), "--until", until);
      expect(refused).toMatchObject({ code: 1, err: expect.stringContaining(allowed) });
    }
    expect(await restore("--to", join(folder, "nowhere"), "--until", "yesterday")).toMatchObject({ code: 2 });
    const { out } = await runHere(["backup", "list", "--from", url], {});
    expect(out).toContain(
      "any instant can be restored of: 2026-03-06T10:00:00.000Z to 2026-03-06T10:02:00.000Z",
    );
  });

  test("doctor and a metric say how far it is shipped", async () => {
    const { deps } = full.service;
    const useDeps = <T>(work: (opened: typeof deps) => Promise<T>) => work(deps);
    const findings = await examine(
      deps.config,
      { useRecords: useDeps, useAll: useDeps },
      { rebuild_sums: false, read_documents: false },
    );
    expect(findings.find(({ text }) => text.startsWith("log:"))).toEqual({
      ok: true,
      text: "log: shipped every 10 s; any instant can be restored of 2026-03-06T10:00:00.000Z to 2026-03-06T10:02:00.000Z",
    });
    full.clock.set("2026-03-06T10:02:45Z");
    expect((await readMetrics(full.service)).body).toContain("meterhouse_backup_log_lag_seconds 45\n");
  });

  test.each([
    [{ BACKUP_LOG: "PT10S" }, "BACKUP_LOG needs BACKUP_URL"],
    [{ BACKUP_LOG: "PT10S", BACKUP_URL: url, DATABASE_URL: "postgres://localhost/x" }, "archive_mode"],
    [{ BACKUP_LOG: "PT0.1S", BACKUP_URL: url }, "BACKUP_LOG must be an ISO 8601 duration from PT1S to PT1H"],
  ])("%p does not start", (env, problem) => {
    let failure: unknown;
    try {
      readConfig(env);
    } catch (error) {
      failure = error;
    }
    expect(exitCodeOf(failure)).toBe(78);
    expect(String(failure)).toContain(problem);
  });
});
