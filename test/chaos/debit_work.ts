import { readFileSync } from "node:fs";
import { inArray } from "drizzle-orm";
import { mandateOrderTable } from "../../src/emandate/orders/tables.ts";
import { pick } from "../support/dice.ts";
import { addDueMandates, collectAll } from "./due_mandates.ts";
import { expectEqual } from "./expect_equal.ts";
import { unlessGone, type Work } from "./work.ts";
import type { World } from "./world.ts";

const MANDATES = 400;
/** How the sandbox treats those who are debited. */
const CUSTOMERS = ["Waiting Customer", "Successful Siti", "Penniless Puan", "Fickle Farid", "Late Lim"];

const due = new WeakMap<World, number[]>();

/** Debits of mandates that are due: each is sent once, by the scheme's own record. */
export const collection: Work = {
  name: "collection",
  lasts_ms: 700,
  async prepare(world) {
    const name = pick(world.roll, CUSTOMERS);
    due.set(world, await addDueMandates(world, MANDATES, name));
  },
  async run(world) {
    while ((await unlessGone(world.api("POST", "/emandate/collections/run", {}))) !== null) continue;
  },
  async settle(world) {
    const ids = due.get(world) ?? [];
    const { read } = world.deps.store;
    const orders = read.use(mandateOrderTable);
    const rows = await collectAll(world.api, read, ids);
    const lines = readFileSync(world.sent_file, "utf8").trimEnd().split("\n");
    expectEqual(new Set(lines.map((line) => line.split(" ")[0])).size, lines.length, "orders that were sent");
    const asked = await read.select().from(orders).where(inArray(orders.mandate_id, ids));
    const by_mandate = Map.groupBy(
      asked.filter(({ kind }) => kind === "debit"),
      ({ mandate_id }) => mandate_id,
    );
    const amounts = new Map(rows.map(({ id, amount }) => [id, amount]));
    for (const [mandate_id, own] of by_mandate) {
      // A retry is of another day.
      expectEqual(own.length, 1, `orders of mandate ${mandate_id}`);
    }
    const known = new Map(asked.map((order) => [order.order_no, amounts.get(order.payment_id ?? 0)]));
    const sent = new Map(
      lines.map((line): [string, string] => [line.split(" ")[0] ?? "", line.split(" ")[1] ?? ""]),
    );
    for (const [order_no, amount] of known) {
      if (sent.has(order_no)) expectEqual(sent.get(order_no), amount, `the amount sent as ${order_no}`);
    }
  },
};
