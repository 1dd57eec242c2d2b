import { call } from "../../../src/app/operation.ts";
import "../../../src/server/node_env.ts";
import { closeSync, openSync, writeSync } from "node:fs";
import { readConfig } from "../../../src/core/config.ts";
import { dayAt } from "../../../src/emandate/working_days.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import { collectDue } from "../../../src/emandate/collections/service.ts";
import { isAnythingDue } from "../../../src/emandate/collections/start_run.ts";
import { dueAt } from "../../../src/emandate/payments/rules.ts";
import { sandbox } from "../../../src/emandate/scheme/sandbox.ts";

// Collects for the company COMPANY until nothing is due, as often as that takes, with a scheme that writes what it
// is sent to the file argv[2], a line for each debit; with HANGS it never answers. For tests that kill it on the way.

const sent = openSync(process.argv[2] ?? "", "a");
Object.assign(sandbox, {
  async collect(orders: { order_no: string; amount: string }[]) {
    for (const { order_no, amount } of orders) writeSync(sent, `${order_no} ${amount}\n`);
    if (process.env.HANGS) await new Promise(() => console.log("hangs"));
    await Bun.sleep(1);
    return new Map();
  },
});

const deps = await openDeps(readConfig(process.env), { without_usage: true });
const company_id = Number(process.env.COMPANY);
const open = () =>
  deps.openContext({
    actor: { kind: "system", company_id },
    origin: "job",
    request_id: "test",
    address: null,
  });

function isDue(): Promise<boolean> {
  const now = deps.clock.now();
  const before = dueAt(dayAt(now).add({ days: 1 }));
  return isAnythingDue({ q: deps.store.read, scope: { company_id }, now }, before, true);
}

console.log("begins");
while (await isDue()) {
  await call(open(), collectDue, {});
  await Bun.sleep(20);
}
closeSync(sent);
await deps.close();
console.log("done");
