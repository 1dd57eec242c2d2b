import type { Deps } from "../app/deps.ts";
import { withTimeout } from "../core/time.ts";

/** How long the stores may take to answer, and how long the result is cached. */
const PING_MS = 2_000;
const REMEMBERED_MS = 1_000;

/** Whether both stores answer. They are pinged at most once a second; each change is logged. */
export class Readiness {
  readonly #deps: Deps;
  #under_way: Promise<boolean> | undefined;
  #is_ready = true;
  #known_until_ms = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async check(): Promise<boolean> {
    if (performance.now() < this.#known_until_ms) return this.#is_ready;
    this.#under_way ??= this.#ping().finally(() => (this.#under_way = undefined));
    return this.#under_way;
  }

  async #ping(): Promise<boolean> {
    const { store, usage, log } = this.#deps;
    const was_ready = this.#is_ready;
    try {
      const pings = Promise.all([store.ping(), usage.ping(PING_MS)]);
      if ((await withTimeout(pings, PING_MS)) === null) throw new Error(`No answer within ${PING_MS} ms`);
      this.#is_ready = true;
      if (!was_ready) log.info("ready again");
    } catch (error) {
      this.#is_ready = false;
      if (was_ready) log.error({ err: error }, "not ready");
    }
    this.#known_until_ms = performance.now() + REMEMBERED_MS;
    return this.#is_ready;
  }
}
