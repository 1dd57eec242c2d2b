import type { AppendResult } from "../../../src/usage_store/port.ts";

/** Calls again for as long as nobody owns the lane. */
export async function persist(call: () => Promise<AppendResult>): Promise<AppendResult> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("no instance stores"))) throw error;
    }
  }
}

/** A proxy that holds commits of lanes, before they arrive or before their answer does, or lets nothing through. */
export class Between {
  readonly url: string;
  readonly #server: ReturnType<typeof Bun.serve>;
  readonly #holds = new Map<string, "request" | "answer">();
  readonly #held = new Map<string, PromiseWithResolvers<void>>();
  readonly #released = Promise.withResolvers<void>();
  readonly #passing = new Set<Promise<unknown>>();
  is_down = false;

  constructor(target: string) {
    const { origin, pathname } = new URL(target);
    this.#server = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      idleTimeout: 0,
      maxRequestBodySize: 2 ** 30,
      fetch: (request) => {
        const passing = this.#pass(request, origin);
        this.#passing.add(passing);
        return passing.finally(() => this.#passing.delete(passing));
      },
    });
    this.url = `http://127.0.0.1:${this.#server.port}${pathname}`;
  }

  async #pass(request: Request, origin: string): Promise<Response> {
    if (this.is_down) return new Response("down", { status: 502 });
    const { pathname, search, searchParams } = new URL(request.url);
    const lane = searchParams.get("insert_deduplication_token")?.split(":")[0] ?? "";
    const how = this.#holds.get(lane);
    const body = await request.arrayBuffer();
    const { method, headers } = request;
    if (how === "request") await this.#wait(lane);
    const response = await fetch(`${origin}${pathname}${search}`, { method, headers, body });
    const answer = new Response(await response.arrayBuffer(), response);
    if (how === "answer") await this.#wait(lane);
    return answer;
  }

  async #wait(lane: string): Promise<void> {
    this.#held.get(lane)?.resolve();
    await this.#released.promise;
  }

  hold(lane: number, how: "request" | "answer"): void {
    this.#holds.set(String(lane), how);
    this.#held.set(String(lane), Promise.withResolvers());
  }

  /** Resolves when a commit of the lane is held. */
  async held(lane: number): Promise<void> {
    await this.#held.get(String(lane))?.promise;
  }

  release(): void {
    this.#holds.clear();
    this.#released.resolve();
  }

  /** Resolves when nothing is under way. */
  async quiet(): Promise<void> {
    while (this.#passing.size > 0) await Promise.allSettled(this.#passing);
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}
