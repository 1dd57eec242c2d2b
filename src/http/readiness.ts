import type { Deps } from "../app/deps.ts";
import { withTimeout } from "../core/time.ts";

/** How long the stores may take to answer, and how long the result is cached. */
const PING_MS = 2_000;
const REMEMBERED_MS = 1_000;

/** Whether both stores answer, and an instance's clock is right. Looked at once a second at most; each change is logged. */
export class Readiness {
  readonly #deps: Deps;
  #under_way: Promise<string | null> | undefined;
  /** Why it is not ready. */
  #problem: string | null = null;
  #known_until_ms = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async check(): Promise<boolean> {
    return (await this.problem()) === null;
  }

  async problem(): Promise<string | null> {
    if (performance.now() < this.#known_until_ms) return this.#problem;
    this.#under_way ??= this.#look().finally(() => (this.#under_way = undefined));
    return this.#under_way;
  }

  async #look(): Promise<string | null> {
    const { store, usage, log, guards } = this.#deps;
    const was_ready = this.#problem === null;
    try {
      this.#problem = guards.clock.sends_away ? guards.clock.problem : null;
      if (this.#problem !== null) throw new Error(this.#problem);
      const pings = Promise.all([store.ping(), usage.ping(PING_MS)]);
      if ((await withTimeout(pings, PING_MS)) === null) throw new Error(`No answer within ${PING_MS} ms`);
      if (!was_ready) log.info("ready again");
    } catch (error) {
      this.#problem ??= "A store does not answer";
      if (was_ready) log.error({ err: error }, "not ready");
    }
    this.#known_until_ms = performance.now() + REMEMBERED_MS;
    return this.#problem;
  }
}
