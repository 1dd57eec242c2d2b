import { beforeAll, describe, expect, test } from "bun:test";
import { call } from "../../../src/app/operation.ts";
import type { Actor } from "../../../src/core/access.ts";
import { usageReaders } from "../../../src/server/open_usage.ts";
import { LIMITS } from "../../../src/usage/limits.ts";
import { searchUsage } from "../../../src/usage/search/service.ts";
import { canonicalJson } from "../../../src/usage_store/metadata.ts";
import { PASSWORD, type Tenant, useService } from "../../support/harness.ts";
import { openRequest, statusOf } from "../../support/raw_request.ts";
import { turnsDuring } from "../../support/turns.ts";
import { addSubscription } from "../fixtures.ts";

// The largest answer that there is: as many groups as it may have, each with a name of its own.

const GROUPS = LIMITS.usage_groups;
const AT = 1_760_000_000_000;
const PATH = "/api/v1/usage/search";
const BY_NAME = { aggregate: true, group_by: "metadata:name" } as const;
/** More than the readers of all companies together. */
const MANY = usageReaders() + 2;

const service = useService();
let other: Tenant;
let other_token: string;
let token: string;

beforeAll(async () => {
  other = await service.addTenant();
  token = await tokenOf(service);
  other_token = await tokenOf(other);
  await storeGroups(service, (i) => `„Ålesund“ \n ${i}`);
  await storeGroups(other, (i) => `theirs ${i}`);
});

async function tokenOf({ admin_email }: Tenant): Promise<string> {
  const { body } = await service.anonymous("POST", "/login", { email: admin_email, password: PASSWORD });
  return body.token;
}

async function storeGroups(tenant: Tenant, nameOf: (i: number) => string): Promise<void> {
  const { id: subscription_id } = await addSubscription(tenant, "of groups");
  const events = Array.from({ length: GROUPS }, (_, i) => ({
    id: crypto.randomUUID(),
    subscription_id,
    timestamp: AT,
    timestamp_given: true,
    usage: `${i % 100}.25`,
    metadata: canonicalJson({ name: nameOf(i) }),
  }));
  await service.deps.usage.append(tenant.company_id, events, AT);
}

async function send(bearer: string, body: unknown): Promise<{ text: string; headers: Headers }> {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  const answer = await fetch(service.url + PATH, { method: "POST", headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(200);
  return { text: await answer.text(), headers: answer.headers };
}

function openContext() {
  const actor: Actor = {
    kind: "user",
    user_id: 1,
    email: service.admin_email,
    company_id: service.company_id,
    client_id: null,
    role: "admin",
  };
  return service.deps.openContext({ actor, origin: "rest", request_id: "test", address: null });
}

describe("an answer of as many groups as there may be", () => {
  test("is sent as JSON.stringify writes it, with the headers of a short one", async () => {
    const long = await send(token, BY_NAME);
    const short = await send(token, { aggregate: true });
    const found = await call(openContext(), searchUsage, BY_NAME);
    expect(found.data).toHaveLength(GROUPS);
    expect(long.text === JSON.stringify(found)).toBe(true);
    const withoutOwn = ({ headers }: { headers: Headers }) => {
      const { "x-request-id": _, date: __, "content-length": length, ...same } = Object.fromEntries(headers);
      return { length: Number(length), same };
    };
    expect(withoutOwn(long).length).toBe(Buffer.byteLength(long.text));
    expect(withoutOwn(long).same).toEqual(withoutOwn(short).same);
  });

  test("is read, folded, sorted and named in turns of 125 groups", async () => {
    const { turns } = await turnsDuring(() => call(openContext(), searchUsage, BY_NAME));
    // Reading, merging, grouping, summing, sorting, and seven rounds of merging what is sorted.
    expect(turns).toBeGreaterThanOrEqual((5 + 7) * (GROUPS / 125 - 1));
  });

  test("has each company's own groups, also where they ask at once", async () => {
    const asked = [token, other_token, token, other_token];
    const answers = await Promise.all(asked.map((bearer) => send(bearer, BY_NAME)));
    for (const [i, { text }] of answers.entries()) {
      const keys: string[] = JSON.parse(text).data.map(({ group_key }: { group_key: string }) => group_key);
      expect(new Set(keys).size).toBe(GROUPS);
      expect(keys.every((key) => key.startsWith("theirs") === (i % 2 === 1))).toBe(true);
    }
  });

  test.each(["before", "while"])("leaves nothing behind when the callers go %s it comes", async (when) => {
    const body = JSON.stringify(BY_NAME);
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": body.length,
    };
    for (let i = 0; i < MANY; i++) {
      const request = await openRequest(service.url, PATH, headers, body);
      if (when === "while") expect(await statusOf(request)).toBe(200);
      request.leave();
    }
    // Had each of them kept its reader, none would be left for these.
    const answers = await Promise.all([send(token, BY_NAME), send(token, BY_NAME)]);
    expect(new Set(answers.map(({ text }) => text.length)).size).toBe(1);
  });
});
