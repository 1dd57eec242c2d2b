import { expect, test } from "bun:test";
import { useService } from "../../support/harness.ts";
import { addWebhook, openReceiver, until } from "../../support/webhook_receiver.ts";

const service = useService({ env: { NODE_ENV: "development" } });

test("the figures of an endpoint say how its last deliveries ended", async () => {
  const { api } = await service.addTenant();
  const receiver = openReceiver();
  const { id } = await addWebhook(api, receiver.url, ["client.created"]);
  const quiet = await addWebhook(api, receiver.url, ["product.created"]);

  for (let i = 0; i < 3; i++) await api("POST", "/clients", { name: "Acme" });
  await receiver.calls(3);
  const ended = async (count: number) =>
    until(async () => {
      const { figures } = (await api("GET", `/webhooks/${id}?with=figures`)).body.data;
      return figures.succeeded + figures.failed === count;
    }, `${count} ended deliveries`);
  await ended(3);
  receiver.answer(() => new Response("gone", { status: 410 }));
  await api("POST", "/clients", { name: "Acme" });
  await ended(4);
  const [oldest] = (await api("GET", `/webhook-logs?endpoint_id=${id}`)).body.data.toReversed();
  const figures = {
    succeeded: 3,
    failed: 1,
    pending: 0,
    success_rate: 0.75,
    since: oldest.created_at,
  };
  const none = { succeeded: 0, failed: 0, pending: 0, success_rate: null, since: null };
  const { body } = await api("GET", "/webhooks?with=figures");
  expect(body.data).toMatchObject([
    { id, status: "disabled", figures },
    { id: quiet.id, status: "active", figures: none },
  ]);
  expect((await api("GET", "/webhooks")).body.data[0].figures).toBeUndefined();
  expect((await api("GET", `/webhooks/${id}`)).body.data.figures).toBeUndefined();
  expect((await api("GET", "/webhooks?with=more")).body.details[0].path).toBe("/with");
  const other = await service.addTenant();
  expect((await other.api("GET", `/webhooks/${id}?with=figures`)).status).toBe(404);
  await receiver.stop();
});
