import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inArray } from "drizzle-orm";
import { mandateOrderTable } from "../../src/emandate/orders/tables.ts";
import { readConfig } from "../../src/core/config.ts";
import { openDeps } from "../../src/server/open_deps.ts";
import { makeCommandFolder, run, startServer } from "../support/process.ts";
import { placeWords, takeBackup } from "./backup_works.ts";
import { addDueMandates, collectAll } from "./due_mandates.ts";
import { expectEqual } from "./expect_equal.ts";
import { unlessGone, type Work } from "./work.ts";
import type { World } from "./world.ts";

const MANDATES = 120;
const due = new WeakMap<World, number[]>();
const collect = "/emandate/collections/run";

/** A restored service sends nothing before `collections resume`, and afterwards each debit once, though it is killed. */
export const resumed: Work = {
  name: "collection after a restore",
  lasts_ms: 300,
  async prepare(world) {
    due.set(world, await addDueMandates(world, MANDATES, "Successful Siti"));
    await takeBackup(world);
  },
  async settle(world) {
    const place = await makeCommandFolder();
    const sent_file = join(place.data_dir, "sent_debits");
    const restored = await run(placeWords(place), world.env);
    expectEqual([restored.code, restored.code === 0 ? "" : restored.err], [0, ""], "a restore");
    writeFileSync(sent_file, "");
    const lines = () => readFileSync(sent_file, "utf8").split("\n").slice(0, -1);
    const { BACKUP_URL: _, ...settings } = world.env;
    const env = { ...settings, ...place.env, SENT_DEBITS: sent_file };
    const start = () => startServer(env, undefined, "test/chaos/recording_server.ts");
    let server = await start();
    await (await server.signIn())("POST", collect, {});
    expectEqual(lines(), [], "debits that were sent while they are held");
    const { code, out, err } = await run(["collections", "resume", "--yes"], place.env);
    expectEqual([code, code === 0 ? "" : out + err], [0, ""], "the release of debits");
    const api = await server.signIn();
    const running = unlessGone(api("POST", collect, {}));
    await Bun.sleep(10 + world.roll(400));
    server.kill("SIGKILL");
    await Promise.all([server.exited, running]);
    server = await start();
    const again = await server.signIn();
    const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal" }), { without_usage: true });
    try {
      const { read } = deps.store;
      const ids = due.get(world) ?? [];
      await collectAll(again, read, ids);
      const orders = read.use(mandateOrderTable);
      const asked = await read.select().from(orders).where(inArray(orders.mandate_id, ids));
      expectEqual(asked.filter(({ kind }) => kind === "debit").length, ids.length, "orders of the period");
      expectEqual(new Set(lines().map((line) => line.split(" ")[0])).size, lines().length, "orders sent");
    } finally {
      await deps.close();
      server.kill("SIGKILL");
      await server.exited;
    }
    place.remove();
  },
};
