import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { sandbox } from "../../src/emandate/scheme/sandbox.ts";

// The service, with a sandbox that writes every debit that it is sent to the file SENT_DEBITS, a line each: the
// scheme's own record, which no kill of the service undoes.

const collect = sandbox.collect.bind(sandbox);
Object.assign(sandbox, {
  async collect(orders: Parameters<typeof collect>[0]) {
    const file = openSync(process.env.SENT_DEBITS ?? "", "a");
    writeSync(file, orders.map(({ order_no, amount }) => `${order_no} ${amount}\n`).join(""));
    fsyncSync(file);
    closeSync(file);
    return collect(orders);
  },
});

await import("../../src/main.ts");
