import { describe, expect, test } from "bun:test";
import type { Deps } from "../../../src/app/deps.ts";
import { examine } from "../../../src/cli/examine.ts";
import { holdAllDebits } from "../../../src/emandate/holds/queries.ts";
import { type Json, readMetrics, TestClock, useService } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type Finished, runHere } from "../../support/process.ts";
import { addMandate, answer, at, getPayment, NO_FUNDS, paymentsOf } from "../payments/fixtures.ts";

const clock = new TestClock(at("2026-01-12"));
const service = useService({ clock });

async function moneyHeld(): Promise<string | undefined> {
  return /^meterhouse_money_held (\S+)$/m.exec((await readMetrics(service)).body)?.[1];
}

function command(...words: string[]): Promise<Finished> {
  const { data_dir, database_url } = service.deps.config;
  return runHere(words, {
    DATA_DIR: data_dir,
    ...(database_url === null ? {} : { DATABASE_URL: database_url }),
  });
}

const HELD = expect.stringContaining("debits are held since the restore of a point");

describe("while debits are held", () => {
  test("none goes out by any way, and those that wait go out once after `collections resume`", async () => {
    const { api, deps, company_id } = service;
    const mandate = await addMandate(deps, service, "2026-01-12");
    const by_hand = await addMandate(deps, service, null);
    const collect = (): Promise<Json> => api("POST", "/emandate/collections/run", {});
    const first_run = (await collect()).body.data;
    const [first] = await paymentsOf(api, mandate);
    expect(await answer(deps, service, first.order_no, NO_FUNDS)).toBe(true);
    expect((await getPayment(api, first.id)).status).toBe("retry_scheduled");
    await addMandate(deps, service, "2026-01-12");
    const debit = (id: number, body: object) => api("POST", `/emandate/mandates/${id}/payments`, body);
    expect(await moneyHeld()).toBe("0");

    await deps.store.tx((q) => holdAllDebits(q, clock.now(), "the restore of a point"));
    await deps.store.tx((q) => holdAllDebits(q, clock.now(), "the restore of another"));
    expect(await moneyHeld()).toBe("1");
    for (const refused of [
      await collect(),
      await debit(by_hand, { amount: "12.00" }),
      await api("POST", `/emandate/payments/${first.id}/retry`, {}),
      await api("GET", `/emandate/collections/${first_run.id}/file`),
    ]) {
      expect([refused.status, refused.body.error]).toEqual([409, HELD]);
    }
    // What is planned waits, and so do the jobs.
    const planned = await debit(by_hand, { amount: "7.00", due_date: "2026-01-14" });
    expect([planned.status, planned.body.data.status]).toEqual([201, "scheduled"]);
    clock.set(at("2026-01-16"));
    service.api = await service.signIn(service.admin_email);
    for (const job of ["collections", "mandate_orders"]) expect(await runNamedJob(service, job)).toBe(true);
    const attempts = async () =>
      (await service.api("GET", "/emandate/payments?limit=100")).body.data.map((payment: Json) => [
        payment.status,
        payment.attempt_count,
      ]);
    expect(await attempts()).toEqual([
      ["scheduled", 0],
      ["retry_scheduled", 1],
    ]);
    expect((await service.api("GET", "/emandate/collections")).body.data).toHaveLength(1);

    const told = await command("collections", "resume");
    expect(told).toMatchObject({ code: 1, err: "Nothing was released: --yes releases it\n" });
    expect(told.out).toContain(
      `Held: company ${company_id} (Company 1), since the restore of a point: 2 debits due of MYR`,
    );
    // By the real clock, of later: the next month of both.
    expect(told.out).toContain("2 mandates due for collection");
    const use = <T>(work: (own: Deps) => Promise<T>) => work(deps);
    const findings = await examine(
      deps.config,
      { useRecords: use, useAll: use },
      { rebuild_sums: false, read_documents: false },
    );
    expect(findings.map(({ text }) => text)).toContain(
      "debits: HELD for 1 company; `collections resume` releases them",
    );
    expect(await moneyHeld()).toBe("1");

    const released = await command("collections", "resume", "--company", String(company_id), "--yes");
    expect(released).toMatchObject({ code: 0, out: expect.stringContaining("Released: company") });
    expect(await moneyHeld()).toBe("0");
    expect((await command("collections", "resume")).out).toBe("No debits are held\n");
    const entries = (await service.api("GET", "/audit-log?operation=resume_collections")).body.data;
    expect(entries).toHaveLength(1);

    const run = (await service.api("POST", "/emandate/collections/run", {})).body.data;
    expect(run.counts.submitted).toBe(3);
    const again = (await service.api("POST", "/emandate/collections/run", {})).body.data;
    expect(again.counts.submitted).toBe(0);
  });

  test("the words of the command are checked", async () => {
    expect(await command("collections")).toMatchObject({ code: 2, err: "Say `collections resume`\n" });
    expect(await command("collections", "resume", "--company", "999")).toMatchObject({
      code: 1,
      err: "There is no company 999\n",
    });
  });
});
