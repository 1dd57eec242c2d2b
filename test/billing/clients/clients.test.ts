import { describe, expect, test } from "bun:test";
import { useService } from "../../support/harness.ts";

const service = useService();
const { api } = service;

async function addClient(name = "Acme"): Promise<number> {
  return (await api("POST", "/clients", { name })).body.data.id;
}

describe("clients", () => {
  test("a new client has no subscriptions", async () => {
    const { data } = (await api("GET", `/clients/${await addClient()}`)).body;
    expect(data.subscriptions).toEqual([]);
  });

  test("an analyst reads and may not write; a client user is sent to /my", async () => {
    const id = await addClient();
    const analyst = await service.addUser(service, "analyst");
    expect((await analyst("GET", `/clients/${id}`)).status).toBe(200);
    expect((await analyst("POST", "/clients", { name: "x" })).status).toBe(403);
    expect((await analyst("DELETE", `/clients/${id}`)).status).toBe(403);
    const client = await service.addUser(service, "client", id);
    expect((await client("GET", "/clients")).status).toBe(403);
    expect((await client("POST", "/clients", {})).status).toBe(403);
  });

  test("deleting a client ends its users' tokens", async () => {
    const id = await addClient();
    const client = await service.addUser(service, "client", id);
    expect((await client("GET", "/me")).status).toBe(200);
    await api("DELETE", `/clients/${id}`);
    expect((await client("GET", "/me")).status).toBe(401);
  });

  test("two hundred clients made in parallel get two hundred ids", async () => {
    const tenant = await service.addTenant();
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) => tenant.api("POST", "/clients", { name: `c${i}` })),
    );
    expect(new Set(answers.map((answer) => answer.body.data.id)).size).toBe(200);
  });
});
