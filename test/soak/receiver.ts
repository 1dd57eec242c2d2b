/** An endpoint that counts the messages it got, each once. */
export function openCounter(): { url: string; count(type: string): number; stop(): Promise<void> } {
  const seen = new Map<string, Set<string>>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      const text = await request.text();
      const type = /"type":"([^"]+)"/.exec(text)?.[1] ?? "";
      const ids = seen.get(type) ?? new Set();
      seen.set(type, ids.add(request.headers.get("webhook-id") ?? ""));
      return new Response("thanks");
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/hooks`,
    count: (type) => seen.get(type)?.size ?? 0,
    stop: () => server.stop(true),
  };
}
