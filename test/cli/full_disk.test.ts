import { expect, test } from "bun:test";
import { makePreparedFolder, serveHere, startServer } from "../support/process.ts";

// A limit on the size of files stands for a full disk. PostgreSQL's disk is not ours to fill.
test.skipIf(process.env.TEST_STORE === "postgres")(
  "a full disk under the database is a 503 on every route, and passes",
  async () => {
    const place = await makePreparedFolder();
    const server = await startServer(place.env, 4_000);
    const api = await server.signIn();
    const filler = "x".repeat(190);
    const statuses = new Set<number>();
    for (let i = 0; i < 3_000 && !statuses.has(503); i++)
      statuses.add((await api("POST", "/clients", { name: `${i} ${filler}` })).status);
    expect([...statuses]).toEqual([201, 503]);
    const routes: [string, string, unknown][] = [
      ["POST", "/clients", { name: `One more ${filler}` }],
      ["POST", "/products", { name: `One more ${filler}` }],
      [
        "POST",
        "/users",
        { email: "u@example.com", password: "correct horse battery", role: "analyst", name: "U" },
      ],
      ["POST", "/webhooks", { url: "https://example.com/hook", events: ["client.created"] }],
      [
        "POST",
        "origin:/oauth/register",
        { client_name: "Agent", redirect_uris: ["https://example.com/back"] },
      ],
      ["PATCH", "/clients/1", { name: filler }],
      ["DELETE", "/clients/2", undefined],
    ];
    for (const [method, path, body] of routes) {
      // A small write may still find room in a page.
      const { status } = await api(method, path, body);
      expect([`${method} ${path}`, status < 500 || status === 503]).toEqual([`${method} ${path}`, true]);
    }
    expect((await api("GET", "/clients/1")).status).toBe(200);
    server.kill("SIGKILL");
    await server.exited;

    await serveHere(place.env, async (again) => {
      expect((await again("POST", "/clients", { name: "Room again" })).status).toBe(201);
    });
    place.remove();
  },
);
