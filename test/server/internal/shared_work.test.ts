import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { addCatalog, create, subscribe } from "../../billing/subscriptions/fixtures.ts";
import { type Deployment, makeDeployment } from "../../support/deployment.ts";
import { type Api, apiOf, type Json } from "../../support/harness.ts";
import type { ServerProcess } from "../../support/process.ts";
import { whyNoUsageOnClickHouse } from "../../support/usage_on_clickhouse.ts";
import { addWebhook, openReceiver, type Receiver, until } from "../../support/webhook_receiver.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

const SUBSCRIPTIONS = 40;

describe.skipIf(reason !== null)("records of two instances", () => {
  let deployment: Deployment;
  let instances: [ServerProcess, ServerProcess];
  let apis: [Api, Api];
  let receiver: Receiver;
  beforeAll(async () => {
    deployment = await makeDeployment(2);
    receiver = openReceiver();
    const first = await deployment.start();
    instances = [first, await deployment.start()];
    apis = [await instances[0].signIn(), await instances[1].signIn()];
  }, 120_000);
  afterAll(async () => {
    await deployment?.stop();
    await receiver?.stop();
  });

  test("a key's request is carried out once, whichever of both it comes to, at once or later", async () => {
    const names = Array.from({ length: 8 }, (_, i) => `Once ${i}`);
    for (const name of names) {
      const key = { "idempotency-key": crypto.randomUUID() };
      const both = await Promise.all(apis.map((api) => api("POST", "/clients", { name }, key)));
      expect(both.map(({ status }) => status).toSorted((x, y) => x - y)).toEqual(
        both.some(({ status }) => status === 409) ? [201, 409] : [201, 201],
      );
      const again = await Promise.all(apis.map((api) => api("POST", "/clients", { name }, key)));
      const made = both.find(({ status }) => status === 201)?.body.data.id;
      for (const { status, body } of again) expect([status, body.data.id]).toEqual([201, made]);
    }
    const { body } = await apis[0]("GET", "/clients?limit=100");
    expect(
      body.data.map(({ name }: Json) => name).filter((name: string) => name.startsWith("Once")),
    ).toHaveLength(names.length);
  });

  test("a key or a session that one ends is over at the other at once", async () => {
    const { clientId, clientSecret, id } = await create(apis[0], "/api-keys", {
      name: "Meter",
      role: "ingest",
      environment: "production",
    });
    const [here, there] = instances.map(({ url }) => apiOf(url, {})) as [Api, Api];
    const { body } = await there("POST", "/auth/token", { clientId, clientSecret });
    const token = body.data?.access_token ?? body.access_token ?? body.token;
    const machine = apiOf(instances[0].url, { authorization: `Bearer ${token}` });
    expect((await machine("POST", "/usage/events", [])).status).not.toBe(401);
    expect((await apis[1]("DELETE", `/api-keys/${id}`)).status).toBe(200);
    expect((await machine("POST", "/usage/events", [])).status).toBe(401);
    expect((await here("POST", "/auth/token", { clientId, clientSecret })).status).toBe(401);
    const session = await instances[0].signIn();
    expect((await session("POST", "/logout")).status).toBeLessThan(300);
    expect((await session("GET", "/me")).status).toBe(401);
  });

  test("what either records is sent to an endpoint once", async () => {
    await addWebhook(apis[0], receiver.url, ["client.created"]);
    const made = await Promise.all(
      Array.from({ length: 30 }, (_, i) => create(apis[i % 2] as Api, "/clients", { name: `Told ${i}` })),
    );
    // Of clients made before it may be told, too.
    const made_ids = new Set(made.map(({ id }) => id));
    const told = () => receiver.received.filter(({ body }) => made_ids.has(body.data.id));
    await until(() => told().length >= 30, "30 calls");
    // Whoever sends twice does so at once.
    await Bun.sleep(2_000);
    const ids = told().map(({ headers }) => headers["webhook-id"]);
    expect([ids.length, new Set(ids).size]).toEqual([30, 30]);
  });

  test("a billing run and webhooks of one that is killed are gone on with by the other: nothing twice, nothing lost", async () => {
    const api = apis[1];
    const catalog = await addCatalog({ api });
    const ids: number[] = [];
    for (let i = 0; i < SUBSCRIPTIONS; i++) {
      const { id } = await subscribe(api, catalog, { started_at: "2020-01-01T00:00:00Z" });
      ids.push(id);
    }
    const told = receiver.received.length;
    const [killed, survivor] = instances;
    const survivorApi = await survivor.signIn();
    const countRecords = async () => (await survivorApi("GET", "/billing-records?limit=1")).body.meta.total;
    const broken = [
      apis[0]("POST", "/billing-runs", {}),
      ...Array.from({ length: 10 }, (_, i) => apis[0]("POST", "/clients", { name: `Last ${i}` })),
    ].map((call) => call.catch(() => undefined));
    await until(async () => (await countRecords()) > 0, "the first bills", 60_000);
    killed.kill("SIGKILL");
    await Promise.all([killed.exited, ...broken]);
    const before = await countRecords();
    // What is due once the dead one's run was ended: periods have one record, whoever asks.
    await until(
      async () => (await survivorApi("POST", "/billing-runs", {})).status < 300,
      "a run of the survivor",
      150_000,
    );
    const runs = async () => (await survivorApi("GET", "/billing-runs")).body.data;
    // A run is taken over after 60 s of silence.
    const areEnded = async () => (await runs()).every(({ status }: Json) => status !== "running");
    await until(areEnded, "the end of both runs", 150_000);
    const records: Json[] = [];
    for (let page = 1; ; page++) {
      const { body } = await survivorApi("GET", `/billing-records?page=${page}&limit=100`);
      records.push(...body.data);
      if (body.data.length < 100) break;
    }
    const periods = records.map(
      ({ subscription_id, billingStartAt }) => `${subscription_id} ${billingStartAt}`,
    );
    expect(new Set(periods).size).toBe(periods.length);
    const of_each = ids.map((id) => records.filter(({ subscription_id }) => subscription_id === id).length);
    expect(new Set(of_each).size).toBe(1);
    expect(of_each[0]).toBeGreaterThan(60);
    // It was killed in the middle.
    expect(before).toBeLessThan(records.length);
    const { body } = await survivorApi("GET", "/clients?limit=100&sort=-id");
    const made = body.data.filter(({ name }: Json) => name.startsWith("Last")).length;
    await until(
      () => new Set(receiver.received.slice(told).map(({ headers }) => headers["webhook-id"])).size >= made,
      "what it had recorded",
    );
  }, 300_000);
});
