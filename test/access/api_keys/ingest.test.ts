import { beforeEach, describe, expect, test } from "bun:test";
import { type Tenant, TestClock, useService } from "../../support/harness.ts";
import { addSubscription, search } from "../../usage/fixtures.ts";
import { eventLines, openStream, sendLines } from "../../usage/ingest/streams.ts";
import { addMachine, exchange, type Machine, withToken } from "./fixtures.ts";

// Keys for ingest send usage in every form, to their own company only.

const NOW = "2026-03-10T12:00:00.000Z";
const clock = new TestClock(NOW);
const service = useService({ clock });
let tenant: Tenant;
let machine: Machine;

beforeEach(async () => {
  clock.set(NOW);
  tenant = await service.addTenant();
  await addSubscription(tenant, "acme");
  machine = await addMachine(service, tenant, "ingest");
});

const event = { external_subscription_id: "acme", usage: 2 };
const cloudEvent = (id: string) => ({
  specversion: "1.0",
  id,
  source: "gateway",
  type: "tokens",
  subject: "acme",
  data: { usage: 2 },
});

async function stored({ api }: Tenant): Promise<number> {
  return (await search(api, { limit: 1 })).meta.total;
}

const forms: [string, unknown, string, number][] = [
  ["one event", event, "application/json", 1],
  ["an array", [event, event], "application/json", 2],
  ["{events: […]}", { events: [event, event, event] }, "application/json", 3],
  ["lines", `${JSON.stringify(event)}\n${JSON.stringify(event)}\n`, "application/x-ndjson", 2],
  ["a CloudEvent", cloudEvent("a"), "application/cloudevents+json", 1],
  ["CloudEvents", [cloudEvent("b"), cloudEvent("c")], "application/cloudevents-batch+json", 2],
];

test.each(forms)("send %s", async (_, body, type, accepted) => {
  const answer = await machine.api("POST", "/usage/events", body, { "content-type": type });
  expect(answer).toMatchObject({ status: 201, body: { data: { accepted, duplicates: 0 } } });
  expect(await stored(tenant)).toBe(accepted);
});

test("send to their own company's subscriptions: another's are not there", async () => {
  const other = await service.addTenant();
  await addSubscription(other, "theirs");
  const theirs = { subscription_id: `${other.company_id}:theirs`, usage: 1 };
  for (const body of [theirs, { external_subscription_id: "theirs", usage: 1 }]) {
    expect((await machine.api("POST", "/usage/events", body)).status).toBe(422);
  }
  expect([await stored(other), await stored(tenant)]).toEqual([0, 0]);
});

test("can't read what they sent", async () => {
  await machine.api("POST", "/usage/events", event);
  expect((await machine.api("POST", "/usage/search", {})).status).toBe(403);
  expect((await machine.api("GET", "/usage/events")).status).toBe(405);
});

test("need the token: a clientId and a secret alone send nothing", async () => {
  const { clientId, clientSecret } = machine.key;
  for (const headers of [
    { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    { authorization: `Bearer ${clientSecret}` },
    { "x-api-key": clientSecret },
    {},
  ]) {
    expect((await service.anonymous("POST", "/usage/events", event, headers)).status).toBe(401);
  }
  expect(await stored(tenant)).toBe(0);
});

test("of other roles send no usage", async () => {
  for (const role of ["lender", "agent"]) {
    const { api } = await addMachine(service, tenant, role);
    expect((await api("POST", "/usage/events", event)).status).toBe(403);
    expect((await sendLines(api, [event])).status).toBe(403);
  }
  expect(await stored(tenant)).toBe(0);
});

describe("a stream", () => {
  const text = (events: readonly unknown[]) => events.map((line) => `${JSON.stringify(line)}\n`).join("");

  const ends: [string, () => Promise<unknown>][] = [
    ["its key is revoked", () => tenant.api("DELETE", `/api-keys/${machine.key.id}`)],
    ["its secret ends", () => tenant.api("POST", `/api-keys/${machine.key.id}/rotate`, { grace_hours: 0 })],
    ["its token ends", async () => clock.set("2026-03-10T13:00:00.000Z")],
  ];
  test.each(ends)("stops when %s, and tells what was stored", async (_, end) => {
    const stream = await openStream(service, tenant, machine.token);
    stream.write(text(eventLines(1_000)));
    while ((await stored(tenant)) < 1_000) await Bun.sleep(5);
    await end();
    stream.write(text(eventLines(1_500, {}, 1_001)));
    const { status, body } = await stream.answer;
    expect([status, body.line, body.accepted]).toEqual([401, 1_001, 1_000]);
    stream.end();
    expect(await stored(tenant)).toBe(1_000);
  });

  test("goes on when its secret is rotated with a grace", async () => {
    const stream = await openStream(service, tenant, machine.token);
    stream.write(text(eventLines(1_000)));
    while ((await stored(tenant)) < 1_000) await Bun.sleep(5);
    await tenant.api("POST", `/api-keys/${machine.key.id}/rotate`, {});
    stream.write(text(eventLines(10, {}, 1_001)));
    stream.end();
    expect((await stream.answer).body).toEqual({ data: { accepted: 1_010, duplicates: 0 } });
  });
});

test("a machine whose token has ended gets another and goes on; what it sent twice counts once", async () => {
  const sent = { ...event, id: "00000000-0000-4000-8000-000000000001" };
  await machine.api("POST", "/usage/events", sent);
  clock.set("2026-03-10T13:00:00.000Z");
  expect((await machine.api("POST", "/usage/events", sent)).status).toBe(401);
  const { token } = (await exchange(service, machine.key)).body;
  const again = await withToken(service, token)("POST", "/usage/events", {
    ...sent,
    timestamp: Temporal.Instant.from(NOW).epochMilliseconds,
  });
  expect(again.body).toEqual({ data: { accepted: 0, duplicates: 1 } });
});
