import { type Instance, type Instances, onlyInstance } from "../../app/instances.ts";
import type { Config } from "../../core/config.ts";
import type { Log } from "../../core/log.ts";
import { VERSION } from "../../core/version.ts";
import type { Store } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import { deleteInstance, deleteLongDead, listOthers, saveSeen, type SeenInstance } from "./queries.ts";

/** What the registry works with. */
interface RegistryDeps {
  store: Store;
  log: Log;
}

/** An instance by its id, and where others reach it; null: it is the only one. */
export interface OwnPlace {
  id: string;
  url: string | null;
}

/** A new instance, where the settings say that it is one. */
export function ownPlace({ instance_url: url }: Pick<Config, "instance_url">): OwnPlace {
  return { id: crypto.randomUUID(), url };
}

/** The name of an instance's sessions in the database, by which another one ends them. */
export const sessionNameOf = ({ id }: Pick<OwnPlace, "id">): string => `meterhouse ${id}`;

/** Those that INSTANCE_URL makes this process one of, or this one alone. */
export function openInstances({ id, url }: OwnPlace, deps: RegistryDeps): Instances {
  return url === null ? onlyInstance(id) : new InstanceRegistry({ id, url }, deps);
}

/** The instances on one database: each writes every few seconds that it lives, and reads who else does. Decision 0320. */
export class InstanceRegistry implements Instances {
  readonly id: string;
  readonly url: string;
  readonly #deps: RegistryDeps;
  #others: readonly Instance[] = [];
  /** Those that hung at the last look, and those whose sessions were ended since. */
  #hung: ReadonlySet<string> = new Set();
  readonly #ended = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> = Promise.resolve();
  #is_over = false;
  #has_failed = false;

  constructor({ id, url }: { id: string; url: string }, deps: RegistryDeps) {
    this.id = id;
    this.url = url;
    this.#deps = deps;
  }

  get others(): readonly Instance[] {
    return this.#others;
  }

  async begin(): Promise<void> {
    await this.#deps.store.tx(deleteLongDead);
    await this.#beat();
    this.#plan();
  }

  async end(): Promise<void> {
    this.#is_over = true;
    clearTimeout(this.#timer);
    await this.#looking;
    const { store, log } = this.#deps;
    await store
      .tx((q) => deleteInstance(q, this.id))
      .catch((error: unknown) => log.warn({ err: error }, "instances: the others learn of this end later"));
  }

  #plan(): void {
    if (this.#is_over) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().finally(() => this.#plan());
    }, LIMITS.instance_beat_ms);
    this.#timer.unref();
  }

  /** Never fails: while the database is away, everything that needs it says so. */
  async #look(): Promise<void> {
    try {
      await this.#beat();
      this.#has_failed = false;
    } catch (error) {
      // Others may have been as silent for the same reason.
      this.#hung = new Set();
      if (!this.#has_failed) this.#deps.log.warn({ err: error }, "instances: cannot say that this one lives");
      this.#has_failed = true;
    }
  }

  async #beat(): Promise<void> {
    const { store } = this.#deps;
    const { id, url } = this;
    // Two steps: in one, every instance would read what the others write, and they would undo one another.
    await store.tx((q) => saveSeen(q, { id, url, version: VERSION.version }));
    const seen = await listOthers(store.read, id);
    this.#note(seen);
    await this.#endHung(seen.filter(({ silent_ms }) => silent_ms >= LIMITS.instance_hung_ms));
  }

  #note(seen: readonly SeenInstance[]): void {
    const { log } = this.#deps;
    const living = seen.filter(({ silent_ms }) => silent_ms < LIMITS.instance_dead_ms);
    const known = new Set(this.#others.map(({ id }) => id));
    const found = new Set(living.map(({ id }) => id));
    for (const { id: instance_id, url, version } of living)
      if (!known.has(instance_id)) log.info({ instance_id, url, version }, "instances: another one lives");
    // One that stops in order takes its row away.
    const silent = new Set(seen.map(({ id }) => id)).difference(found);
    for (const { id: instance_id, url, version } of this.#others) {
      if (silent.has(instance_id)) log.warn({ instance_id, url, version }, "instances: one lives no more");
      else if (!found.has(instance_id)) log.info({ instance_id, url, version }, "instances: one has stopped");
    }
    this.#others = living.map(({ id, url, version }) => ({ id, url, version }));
  }

  /**
   * Ends the sessions of instances that hang, with the locks and transactions that they hold: a process that is paused
   * keeps its connections. Only what hung at the look before too, so that an outage of the database counts as nobody's.
   */
  async #endHung(hung: readonly SeenInstance[]): Promise<void> {
    const { store, log } = this.#deps;
    const ids = new Set(hung.map(({ id }) => id));
    for (const id of this.#ended) if (!ids.has(id)) this.#ended.delete(id);
    for (const id of ids) {
      if (!this.#hung.has(id) || this.#ended.has(id)) continue;
      const sessions = await store.endSessions(sessionNameOf({ id }));
      if (sessions > 0)
        log.warn({ instance_id: id, sessions }, "instances: one hangs, its sessions are ended");
      this.#ended.add(id);
    }
    this.#hung = ids;
  }
}
