import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { readConfig } from "../../../src/core/config.ts";
import { openDeps } from "../../../src/server/open_deps.ts";
import type { SigningSecret } from "../../../src/webhooks/endpoints/model.ts";
import { webhookTable } from "../../../src/webhooks/endpoints/tables.ts";
import { type CommandFolder, makePreparedFolder, run, runHere, serveHere } from "../../support/process.ts";
import type { Api, Json } from "../../support/harness.ts";
import {
  addWebhook,
  isSigned,
  openReceiver,
  type Receiver,
  settled,
} from "../../support/webhook_receiver.ts";

// The same database under one key after another, as restarts find it.

let place: CommandFolder;
let receiver: Receiver;
beforeAll(async () => {
  place = await makePreparedFolder();
});
afterAll(() => place.remove());
beforeEach(() => {
  receiver = openReceiver();
});
afterEach(() => receiver.stop());

const [first_key, second_key, foreign_key] = [1, 2, 3].map(() => randomBytes(32).toString("hex"));

/** Serves under a SECRETS_KEY while something is done. */
function under(SECRETS_KEY: string | undefined, work: (api: Api) => Promise<void>): Promise<void> {
  const key = SECRETS_KEY === undefined ? {} : { SECRETS_KEY };
  return serveHere({ ...place.env, NODE_ENV: "development", ...key }, work);
}

/** What the database holds of the endpoints' secrets. */
async function stored(): Promise<SigningSecret[][]> {
  const deps = await openDeps(readConfig({ ...place.env, LOG_LEVEL: "fatal" }), { without_usage: true });
  try {
    const t = deps.store.read.use(webhookTable);
    return (await deps.store.read.select({ secrets: t.secrets }).from(t)).map(({ secrets }) => secrets);
  } finally {
    await deps.close();
  }
}

async function reseal(SECRETS_KEY: string): Promise<void> {
  expect(await runHere(["job", "webhook_reseal"], { ...place.env, SECRETS_KEY })).toMatchObject({
    code: 0,
    err: "",
  });
}

/** The one call that a test message comes to. */
async function tested(api: Api, id: number) {
  const before = receiver.received.length;
  expect((await api("POST", `/webhooks/${id}/test`)).status).toBe(202);
  const calls = await receiver.calls(before + 1);
  return calls.at(-1) ?? Promise.reject(new Error("no call"));
}

test("secrets are sealed as soon as there is a key, sign under every key that opens them, and stay the same", async () => {
  let webhook: Json;
  await under(undefined, async (api) => {
    webhook = await addWebhook(api, receiver.url);
    expect(isSigned(await tested(api, webhook.id), webhook.secret)).toBe(true);
  });
  expect(await stored()).toEqual([[{ secret: webhook.secret, ends_at: null }]]);

  // Not sealed yet, or just now: it signs either way.
  await under(first_key, async (api) => {
    expect(isSigned(await tested(api, webhook.id), webhook.secret)).toBe(true);
  });
  await reseal(String(first_key));
  const sealed = await stored();
  expect(sealed).toEqual([[{ secret: expect.stringMatching(/^v1\./), ends_at: null }]]);
  await reseal(String(first_key));
  expect(await stored()).toEqual(sealed);

  let rotated: Json;
  await under(`${second_key},${first_key}`, async (api) => {
    rotated = (await api("POST", `/webhooks/${webhook.id}/rotate-secret`, {})).body.data;
    const call = await tested(api, webhook.id);
    expect([isSigned(call, rotated.secret), isSigned(call, webhook.secret)]).toEqual([true, true]);
    const created = await addWebhook(api, receiver.url);
    expect(isSigned(await tested(api, created.id), created.secret)).toBe(true);
  });
  await reseal(`${second_key},${first_key}`);
  const all = (await stored()).flat();
  expect(all).toHaveLength(3);
  expect(all.every(({ secret }) => secret.startsWith("v1."))).toBe(true);
  expect(JSON.stringify(all)).not.toContain("whsec_");
  await under(second_key, async (api) => {
    const call = await tested(api, webhook.id);
    expect([isSigned(call, rotated.secret), isSigned(call, webhook.secret)]).toEqual([true, true]);
  });

  // A key that is lost: nothing is sent unsigned, and the log says why.
  await under(foreign_key, async (api) => {
    expect((await api("POST", `/webhooks/${webhook.id}/test`)).status).toBe(202);
    const log = await settled(api, webhook.id);
    expect(log).toMatchObject({ status: "failed" });
    expect(JSON.stringify(log)).toContain("SECRETS_KEY no longer holds the key");
  });
  expect(
    await run(["job", "webhook_reseal"], { ...place.env, SECRETS_KEY: String(foreign_key) }),
  ).toMatchObject({
    out: expect.stringContaining("SECRETS_KEY no longer holds the key"),
  });
  expect((await stored()).flat()).toEqual(all);
  expect(await runHere(["doctor"], { ...place.env, SECRETS_KEY: String(foreign_key) })).toMatchObject({
    code: 1,
    out: expect.stringContaining(
      "FAIL  secrets in the database: SECRETS_KEY opens 0 of 3; put the key that sealed the others back, or set them anew",
    ),
  });

  // A new secret is the way out; the one that can't be opened holds it up no more, nor the sealing of others.
  await under(foreign_key, async (api) => {
    const fresh = (await api("POST", `/webhooks/${webhook.id}/rotate-secret`, {})).body.data;
    expect(isSigned(await tested(api, webhook.id), fresh.secret)).toBe(true);
  });
  await runHere(["job", "webhook_reseal"], { ...place.env, SECRETS_KEY: `${first_key},${foreign_key}` });
  const after = (await stored()).flat().map(({ secret }) => secret);
  const before = new Set(all.map(({ secret }) => secret));
  expect(after.filter((secret) => before.has(secret))).toHaveLength(3);
  const [named] = sealed.flat().map(({ secret }) => secret.split(".", 2).join("."));
  expect(after.filter((secret) => secret.startsWith(`${named}.`))).toHaveLength(1);
});
