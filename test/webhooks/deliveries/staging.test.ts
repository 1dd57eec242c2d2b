import { afterAll, beforeAll, expect, test } from "bun:test";
import { useService } from "../../support/harness.ts";
import { addDraft, addProgram, openLoans } from "../../loans/applications/fixtures.ts";
import {
  addWebhook,
  logThat,
  MovingClock,
  openReceiver,
  type Receiver,
} from "../../support/webhook_receiver.ts";

const clock = new MovingClock();
const service = useService({ clock, env: { NODE_ENV: "development" } });
let receiver: Receiver;

beforeAll(async () => {
  receiver = openReceiver();
  receiver.answer(() => new Response(null, { status: 503 }));
});
afterAll(async () => {
  await receiver.stop();
});

test("an event of a loan in staging is given up after three attempts, one in production is not", async () => {
  const { id: endpoint_id } = await addWebhook(service.api, receiver.url, ["application.*"]);
  for (const [environment, status] of [
    ["staging", "failed"],
    ["production", "pending"],
  ] as const) {
    const loans = await openLoans(
      service,
      { ...service, api: await service.signIn(service.admin_email) },
      environment,
    );
    const { id } = await addDraft(loans, (await addProgram(loans)).id);
    for (let attempts = 1; attempts <= 3; attempts++) {
      const api = await service.signIn(service.admin_email);
      const log = await logThat(
        api,
        endpoint_id,
        ({ payload, attempts: made }) => payload.data.id === id && made.length === attempts,
      );
      expect(log.payload.data.environment).toBe(environment);
      expect(log.status).toBe(attempts < 3 ? "pending" : status);
      clock.advance({ hours: 30 });
    }
  }
});
