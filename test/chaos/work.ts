import type { World } from "./world.ts";

/** A kind of work that a process is killed in. */
export interface Work {
  readonly name: string;
  /** How long it takes, about: the kill comes at a random moment of it, in ms. */
  readonly lasts_ms: number;
  /** What must be there before, by the database or the server. */
  prepare?(world: World): Promise<void>;
  /** What clients do until they are done or the server is gone, which is no error here. */
  run?(world: World): Promise<void>;
  /** Instead: the words of a command that is killed, while the server is stopped. */
  command?(world: World): Promise<string[]>;
  /** After the restart: repeats what was not answered, and checks all that was. Errors: throws what does not hold. */
  settle(world: World): Promise<void>;
}

/** What came of a request, or null where the server was gone before it answered. */
export async function unlessGone<T>(request: Promise<T>): Promise<T | null> {
  return request.catch(() => null);
}
