import { expect, test } from "bun:test";
import { JOBS } from "../../../src/server/jobs.ts";
import { runJob } from "../../../src/server/scheduler.ts";
import { type Service, type Json, startService } from "../../support/harness.ts";
import { addWebhook, logThat, MovingClock, openReceiver } from "../../support/webhook_receiver.ts";

async function prune(service: Service): Promise<void> {
  for (const job of JOBS.filter(({ name }) => name.endsWith("_prune")))
    expect(await runJob(service.deps, job)).toBeTrue();
}

test("finished deliveries are forgotten after 30 days and events after 90; pending deliveries never", async () => {
  const clock = new MovingClock();
  const service = await startService({ clock, env: { NODE_ENV: "development" } });
  const receiver = openReceiver();
  const hang = new Promise<Response>(() => undefined);
  receiver.answer(({ body }) => (body.type.startsWith("client") ? new Response("thanks") : hang));
  const { id: endpoint_id } = await addWebhook(service.api, receiver.url);
  await service.api("POST", "/clients", { name: "Acme" });
  await logThat(service.api, endpoint_id, ({ status }) => status === "succeeded");
  // Its one attempt goes on for as long as the test: it is pending, and never touched again.
  await service.api("POST", "/products", { name: "Tokens" });
  await receiver.calls(2);
  let api = service.api;
  const advance = async (days: number) => {
    clock.advance({ hours: 24 * days });
    api = await service.signIn(service.admin_email);
    await prune(service);
    const logs = (await api("GET", "/webhook-logs")).body.data;
    const events = (await api("GET", "/events")).body.meta.total;
    return [logs.map(({ event_type, status }: Json) => `${event_type} ${status}`), events];
  };
  expect(await advance(29)).toEqual([["product.created pending", "client.created succeeded"], 2]);
  expect(await advance(2)).toEqual([["product.created pending"], 2]);
  expect(await advance(58)).toEqual([["product.created pending"], 2]);
  expect(await advance(2)).toEqual([["product.created pending"], 0]);
  await receiver.stop();
  await service.stop();
});
