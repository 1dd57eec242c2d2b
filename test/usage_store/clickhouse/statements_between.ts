/** A proxy before ClickHouse that is asked about each statement: it may hold it, hold its answer, or send others first. */
export class StatementsBetween {
  readonly url: string;
  readonly #server: ReturnType<typeof Bun.serve>;

  /** `pass` sends a statement, of which the settings are those of the one that came, and resolves with the answer. */
  constructor(
    target: string,
    on: (sql: string, pass: (sql: string) => Promise<Response>) => Promise<Response>,
  ) {
    const { origin, pathname: database } = new URL(target);
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      maxRequestBodySize: 2 ** 30,
      async fetch(request) {
        const { pathname, search, searchParams } = new URL(request.url);
        const { method, headers } = request;
        const body = await request.arrayBuffer();
        const send = async (sent: ArrayBuffer | string): Promise<Response> => {
          const response = await fetch(`${origin}${pathname}${search}`, { method, headers, body: sent });
          return new Response(await response.arrayBuffer(), response);
        };
        if (searchParams.has("query")) return send(body);
        return on(new TextDecoder().decode(body), send);
      },
    });
    this.url = `http://127.0.0.1:${this.#server.port}${database}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}
