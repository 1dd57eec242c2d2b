import { expect, test } from "bun:test";
import { JOBS, runJob } from "../../../src/server/scheduler.ts";
import { type House, type Json, startHouse } from "../../support/harness.ts";
import { addWebhook, logThat, MovingClock, openReceiver } from "../../support/webhook_receiver.ts";

async function prune(house: House): Promise<void> {
  for (const job of JOBS.filter(({ name }) => name.endsWith("_prune")))
    expect(await runJob(house.deps, job)).toBeTrue();
}

test("finished deliveries are forgotten after 30 days and events after 90; pending deliveries never", async () => {
  const clock = new MovingClock();
  const house = await startHouse({ clock, env: { NODE_ENV: "development" } });
  const receiver = openReceiver();
  const hang = new Promise<Response>(() => undefined);
  receiver.answer(({ body }) => (body.type.startsWith("client") ? new Response("thanks") : hang));
  const { id: endpoint_id } = await addWebhook(house.api, receiver.url);
  await house.api("POST", "/clients", { name: "Acme" });
  await logThat(house.api, endpoint_id, ({ status }) => status === "succeeded");
  // Its one attempt goes on for as long as the test: it is pending, and never touched again.
  await house.api("POST", "/products", { name: "Tokens" });
  await receiver.calls(2);
  let api = house.api;
  const advance = async (days: number) => {
    clock.advance({ hours: 24 * days });
    api = await house.signIn(house.admin_email);
    await prune(house);
    const logs = (await api("GET", "/webhook-logs")).body.data;
    const events = (await api("GET", "/events")).body.meta.total;
    return [logs.map(({ event_type, status }: Json) => `${event_type} ${status}`), events];
  };
  expect(await advance(29)).toEqual([["product.created pending", "client.created succeeded"], 2]);
  expect(await advance(2)).toEqual([["product.created pending"], 2]);
  expect(await advance(58)).toEqual([["product.created pending"], 2]);
  expect(await advance(2)).toEqual([["product.created pending"], 0]);
  await receiver.stop();
  await house.stop();
}, 30_000);
