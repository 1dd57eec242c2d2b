import { errorCode } from "../core/error_code.ts";

/** Content, piece by piece. */
export type Pieces = AsyncIterable<Uint8Array>;

/** What is at a target under a name. */
export interface Listed {
  name: string;
  /** Bytes as stored. */
  size: number;
  /** Unix ms. */
  modified_ms: number;
}

/** Where backups are. Names are relative, with slashes. Errors of all: throws what can't be done there, and why. */
export interface Target {
  /** For messages: its URL, without secrets. */
  readonly url: string;
  /** Writes an object: it is there whole, and durable, or not at all. Errors: throws where the name is taken. */
  write(name: string, content: Pieces): Promise<void>;
  /** Reads an object. Errors: throws where it is not there. */
  read(name: string): Pieces;
  /** All objects below a folder such as `points/`; "" for all. */
  list(folder: string): Promise<Listed[]>;
  /** Removes an object; one that is not there is removed. */
  remove(name: string): Promise<void>;
}

/** The text of a small object. */
export async function readText(target: Pick<Target, "read">, name: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of target.read(name)) pieces.push(piece);
  return Buffer.concat(pieces).toString("utf8");
}

/** A text as content. */
export async function* piecesOf(text: string): Pieces {
  yield new TextEncoder().encode(text);
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: "the disk there is full",
  EDQUOT: "the quota there is used up",
  EACCES: "this user may not",
  EPERM: "this user may not",
  EROFS: "it is read-only",
  ENOENT: "it is not there",
  ENOTDIR: "it is no folder",
  EEXIST: "the name is taken, and no name is written twice",
};

/** An error that says what can't be done at a target, and why. */
export function targetError(action: string, url: string, cause: unknown): Error {
  const reason = REASONS[errorCode(cause) ?? ""] ?? (cause instanceof Error ? cause.message : String(cause));
  return new Error(`Cannot ${action} ${url}: ${reason}`, { cause });
}
