import { expect, test } from "bun:test";
import { buildRequest, Connection } from "../../bench/connection.ts";

test("answers of known length and answers in chunks are read whole, one after the other", async () => {
  const text = "x".repeat(100_000);
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      if (new URL(request.url).pathname === "/whole") return new Response(text);
      return new Response(
        (async function* () {
          for (let start = 0; start < text.length; start += 30_000) {
            yield text.slice(start, start + 30_000);
            await Bun.sleep(1);
          }
        })(),
      );
    },
  });
  const connection = await Connection.open(server.url.origin);
  try {
    for (const path of ["/chunks", "/whole", "/chunks"]) {
      const { status, body } = await connection.send(buildRequest("GET", path));
      expect([status, new TextDecoder().decode(body)]).toEqual([200, text]);
    }
  } finally {
    connection.close();
    await server.stop(true);
  }
});
