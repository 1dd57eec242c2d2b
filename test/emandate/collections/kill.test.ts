import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asc, eq } from "drizzle-orm";
import type { Deps } from "../../../src/app/deps.ts";
import { call } from "../../../src/app/operation.ts";
import { readConfig } from "../../../src/core/config.ts";
import { dayAt } from "../../../src/emandate/working_days.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import type { CollectionRun } from "../../../src/emandate/collections/model.ts";
import { runCollection } from "../../../src/emandate/collections/service.ts";
import { collectionRunTable } from "../../../src/emandate/collections/tables.ts";
import { addCompany } from "../../../src/billing/companies/service.ts";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import { dueAt } from "../../../src/emandate/payments/rules.ts";
import { mandatePaymentTable } from "../../../src/emandate/payments/tables.ts";
import { makeCommandFolder, type CommandFolder } from "../../support/process.ts";
import { PASSWORD, TEST_STORE } from "../../support/harness.ts";
import { insertMandates } from "../payments/fixtures.ts";
import { killRounds } from "../../support/properties.ts";

const MANDATES = 2_500;
/** Few in every run; `KILL_ROUNDS=100 bun test test/emandate/collections/kill.test.ts` makes more of them. */
const KILLS = killRounds(1);
/** On PostgreSQL two work at once. */
const INSTANCES = TEST_STORE === "postgres" ? 2 : 1;

/** A company with mandates that are due, on a deployment where nobody works yet. */
async function prepare(deps: Deps): Promise<number> {
  const caller = { origin: "cli", request_id: "test", address: null } as const;
  const ctx = deps.openContext({ actor: { kind: "operator" }, ...caller });
  const admin = { admin_email: "admin@example.com", admin_password: PASSWORD };
  const { id } = await call(ctx, addCompany, { name: "Acme", ...admin });
  const now = deps.clock.now();
  const today = dayAt(now);
  const due = { anchor_date: today.toString(), next_collection_at: dueAt(today) };
  await deps.store.tx((q) =>
    insertMandates(
      q,
      id,
      now,
      Array.from({ length: MANDATES }, (_, i) => ({ ...due, bankscheme_txn_amount: `${1 + (i % 90)}.00` })),
    ),
  );
  return id;
}

/** Starts one that collects; tells when it has begun, and whether it got to the end. */
async function collect(
  place: CommandFolder,
  company_id: number,
  file: string,
  more: Record<string, string> = {},
) {
  const child = Bun.spawn(["bun", "test/emandate/collections/killed_run.ts", file], {
    env: { ...place.env, COMPANY: String(company_id), LOG_LEVEL: "fatal", ...more },
    stdout: "pipe",
    stderr: "inherit",
  });
  const reader = child.stdout.getReader();
  await reader.read();
  return { child, reader };
}

test(
  "whenever a run is killed, and beside another one, each mandate is debited once",
  async () => {
    const place = await makeCommandFolder();
    const file = join(place.data_dir, "sent");
    writeFileSync(file, "");
    const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal" }), { without_usage: true });
    const company_id = await prepare(deps);

    let kills = 0;
    const instance = async (): Promise<void> => {
      for (;;) {
        const { child } = await collect(place, company_id, file);
        const is_killed = kills < KILLS;
        kills += 1;
        if (is_killed) {
          await Bun.sleep(20 + Math.random() * 250);
          child.kill("SIGKILL");
        }
        if ((await child.exited) === 0) return;
      }
    };
    await Promise.all(Array.from({ length: INSTANCES }, instance));

    const sent = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(new Set(sent.map((line) => line.split(" ")[0])).size).toBe(sent.length);
    const payments = deps.store.read.use(mandatePaymentTable);
    const orders = deps.store.read.use(mandateOrderTable);
    const made = await deps.store.read.select().from(payments).where(eq(payments.company_id, company_id));
    expect(made).toHaveLength(MANDATES);
    expect(new Set(made.map(({ mandate_id }) => mandate_id)).size).toBe(MANDATES);
    expect(new Set(made.map(({ status, attempt_count }) => `${status} ${attempt_count}`))).toEqual(
      new Set(["submitted 1"]),
    );
    const asked = await deps.store.read
      .select()
      .from(orders)
      .where(eq(orders.company_id, company_id))
      .orderBy(asc(orders.id));
    expect(asked).toHaveLength(MANDATES);
    const known = new Map(asked.map(({ order_no, amount }) => [`${order_no} ${amount}`, true]));
    for (const line of sent) expect([line, known.has(line)]).toEqual([line, true]);
    // Of those that were written down and not sent the scheme is asked, like of all others.
    expect(asked.filter(({ next_query_at }) => next_query_at === null)).toEqual([]);
    expect(sent.length).toBeGreaterThan(MANDATES / 2);
    await deps.close();
    place.remove();
  },
  KILLS * 30_000,
);

test("a run whose process is killed holds up no other: the next one begins at once", async () => {
  const place = await makeCommandFolder();
  const file = join(place.data_dir, "sent");
  const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal" }), { without_usage: true });
  const company_id = await prepare(deps);
  const collectNow = () => {
    const actor = { kind: "system", company_id } as const;
    return call(
      deps.openContext({ actor, origin: "cli", request_id: "test", address: null }),
      runCollection,
      {},
    );
  };
  const { child, reader } = await collect(place, company_id, file, { HANGS: "1" });
  expect(new TextDecoder().decode((await reader.read()).value)).toContain("hangs");
  if (TEST_STORE === "postgres") {
    const refused = await collectNow().catch((error: Error) => error.message);
    expect(refused).toBe("Cannot start a collection run: one is running");
  }
  child.kill("SIGKILL");
  await child.exited;
  // PostgreSQL hears of it a moment later.
  const deadline = performance.now() + 10_000;
  let run: CollectionRun | null = null;
  while (run === null && performance.now() < deadline) {
    run = await collectNow().catch(() => null);
    if (run === null) await Bun.sleep(50);
  }
  expect(run).toMatchObject({ status: "finished" });
  const runs = await deps.store.read.select().from(deps.store.read.use(collectionRunTable));
  expect(runs.map(({ status }) => status).toSorted()).toEqual(["finished", "interrupted"]);
  await deps.close();
  place.remove();
});
