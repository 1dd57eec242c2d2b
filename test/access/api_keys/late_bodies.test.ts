import { existsSync } from "node:fs";
import { beforeAll, describe, expect, test } from "bun:test";
import { LIMITS } from "../../../src/http/limits.ts";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { grantAccess } from "../../support/mcp_clients.ts";
import { openRequest, statusOf } from "../../support/raw_request.ts";
import {
  addDraft,
  addProgram,
  APPLICATION,
  done,
  lead,
  type Loans,
  openLoans,
} from "../../loans/applications/fixtures.ts";
import { filesOf, folderOf, PDF } from "../../loans/documents/fixtures.ts";
import { beginUpload, HEAD, TAIL } from "../../loans/documents/raw_upload.ts";
import { addSubscription, search } from "../../usage/fixtures.ts";
import { tokenOf } from "../../usage/ingest/streams.ts";
import { addMachine, exchange } from "./fixtures.ts";

// Whoever sends a body may not be signed in any more when it is all there.

const clock = new TestClock("2026-03-10T12:00:00Z");
const service = useService({ clock });
let loans: Loans;
let program: number;

beforeAll(async () => {
  loans = await openLoans(service);
  program = (await addProgram(loans)).id;
});

/** A body of whose bytes the last come late. */
async function begin(path: string, token: string, type: string, body: string) {
  const cut = body.length - 2;
  const request = await openRequest(
    service.url,
    `/api/v1${path}`,
    {
      authorization: `Bearer ${token}`,
      "content-type": type,
      "content-length": body.length,
      accept: "application/json, text/event-stream",
    },
    body.slice(0, cut),
  );
  await Bun.sleep(2 * LIMITS.sign_in_trust_ms);
  return {
    async end() {
      request.write(body.slice(cut));
      const status = await statusOf(request);
      request.leave();
      return status;
    },
  };
}

const tokenBy = async (key: Json) => (await exchange(service, key)).body.token;
const documentsOf = async (id: number) =>
  (await done(loans.lender("GET", `/lender/applications/${id}/documents`))).length;

describe("a document", () => {
  const comesIn = async () => {
    const places = service.instances.map((deps) => ({ ...service, deps }));
    while (!places.some((place) => existsSync(folderOf(place)) && filesOf(place).length > 0))
      await Bun.sleep(2);
  };
  const BODY = HEAD + PDF + TAIL;

  test.each([
    ["revoked", (id: number) => service.api("DELETE", `/api-keys/${id}`)],
    [
      "given a new secret without grace",
      (id: number) => service.api("POST", `/api-keys/${id}/rotate`, { grace_hours: 0 }),
    ],
  ])("is not kept when its agent's key was %s while it came in", async (_, end) => {
    const { agent, agent_key } = await openLoans(service);
    const { id } = await addDraft({ ...loans, agent }, program);
    const upload = await beginUpload(service.url, await tokenBy(agent_key), id, BODY.length);
    upload.write(BODY.slice(0, -2));
    await comesIn();
    await done(end(agent_key.id));
    upload.write(BODY.slice(-2));
    expect((await upload.answer).status).toBe(401);
    expect(await documentsOf(id)).toBe(0);
    expect(filesOf(service)).toEqual([]);
    const { body } = await service.api("GET", "/events?type=document.uploaded");
    expect(body.data).toEqual([]);
  });

  test("is as young as its last byte: one that began before the approval came after it", async () => {
    const { id } = await addDraft(loans, program);
    await lead(loans, id, "under_review");
    const upload = await beginUpload(service.url, await tokenBy(loans.agent_key), id, BODY.length);
    upload.write(BODY.slice(0, -2));
    await comesIn();
    clock.set("2026-03-10T12:01:00Z");
    upload.write(BODY.slice(-2));
    expect((await upload.answer).status).toBe(201);
    const [document] = await done(loans.lender("GET", `/lender/applications/${id}/documents`));
    expect(document.created_at).toBe("2026-03-10T12:01:00.000Z");
  });
});

test("an application is not made when its agent's key was revoked while it came in", async () => {
  const { agent, agent_key } = await openLoans(service);
  const body = JSON.stringify({ ...APPLICATION, program_id: program, external_reference: "LATE-1" });
  const request = await begin("/agent/applications", await tokenBy(agent_key), "application/json", body);
  await done(service.api("DELETE", `/api-keys/${agent_key.id}`));
  expect(await request.end()).toBe(401);
  expect((await agent("GET", "/agent/applications")).status).toBe(401);
  const next = { name: "Next", role: "agent", environment: "production", replaces_id: agent_key.id };
  const token = await tokenBy(await done(service.api("POST", "/api-keys", next)));
  const found = await service.anonymous("GET", "/agent/applications", undefined, {
    authorization: `Bearer ${token}`,
  });
  expect(found.body.meta.total).toBe(0);
});

test.each(["application/json", "application/x-ndjson"])(
  "events as %s are not stored when their key was revoked while they came in",
  async (type) => {
    const name = `meter-${type.length}`;
    await addSubscription(service, name);
    const { key, token } = await addMachine(service, service, "ingest");
    const body = JSON.stringify({ external_subscription_id: name, usage: 1 });
    const request = await begin("/usage/events", token, type, body);
    await done(service.api("DELETE", `/api-keys/${key.id}`));
    expect(await request.end()).toBe(401);
    expect((await search(service.api, { external_subscription_ids: [name] })).meta.total).toBe(0);
  },
);

test.each(["/emandate/collections/results", "/emandate/mandates/results"])(
  "%s applies nothing of a user who was signed out while it came in",
  async (path) => {
    const token = await tokenOf(service, service.admin_email);
    const request = await begin(path, token, "text/csv", "order_no,amount,response_code\nX,1.00,00\n");
    const authorization = `Bearer ${token}`;
    await done(service.anonymous("POST", "/logout", undefined, { authorization }));
    expect(await request.end()).toBe(401);
  },
);

test("a tool is not called for an agent whose authorization ended while its message came in", async () => {
  const token = await grantAccess(service, service.admin_email);
  const [{ id }] = await done(service.api("GET", "/me/authorizations"));
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "billing_save", arguments: { kind: "client", name: "Late" } },
  });
  const request = await begin("/mcp", token, "application/json", body);
  await done(service.api("DELETE", `/me/authorizations/${id}`));
  expect(await request.end()).toBe(401);
  expect((await service.api("GET", "/clients?search=Late")).body.data).toEqual([]);
});
