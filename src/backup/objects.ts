import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { Decrypter, Encrypter } from "age-encryption";
import type { BackupObject } from "./manifest.ts";
import type { Pieces, Target } from "./target.ts";

/**
 * Writes a file as an object, encrypted where there is a recipient, which its name then says (`….age`). The content goes
 * through in pieces. Errors: those of `write`.
 */
export async function storeObject(
  target: Pick<Target, "write">,
  given_name: string,
  path: string,
  recipient: string | null,
): Promise<BackupObject> {
  const name = recipient === null ? given_name : `${given_name}.age`;
  const hasher = new Bun.CryptoHasher("sha256");
  let size = 0;
  const content = Bun.file(path)
    .stream()
    .pipeThrough(
      new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
        transform(piece, controller) {
          hasher.update(piece);
          size += piece.length;
          controller.enqueue(piece);
        },
      }),
    );
  if (recipient === null) await target.write(name, content);
  else {
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    await target.write(name, await encrypter.encrypt(content));
  }
  return { name, sha256: hasher.digest("hex"), size, recipient };
}

/**
 * Fetches an object into a new file and checks its bytes. `identity` is the age secret key of an encrypted one.
 * Errors: throws what is missing, damaged or encrypted to somebody else, by the object's name; no file is left.
 */
export async function fetchObject(
  target: Pick<Target, "read" | "url">,
  object: BackupObject,
  path: string,
  identity: string | null = null,
): Promise<void> {
  const { name, sha256, size, recipient } = object;
  const hasher = new Bun.CryptoHasher("sha256");
  let read = 0;
  async function* checked(content: Pieces): Pieces {
    for await (const piece of content) {
      hasher.update(piece);
      read += piece.length;
      yield piece;
    }
  }
  const stored = target.read(name)[Symbol.asyncIterator]();
  try {
    const content =
      recipient === null
        ? { [Symbol.asyncIterator]: () => stored }
        : await decrypted(stored, object, identity);
    await pipeline(checked(content), createWriteStream(path, { flags: "wx", mode: 0o600, flush: true }));
    if (read !== size || hasher.digest("hex") !== sha256)
      throw new Error(`${name} at ${target.url} is damaged: it has other bytes than were stored`);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    // Decryption that fails leaves what it reads open.
    await stored.return?.();
  }
}

async function decrypted(
  stored: AsyncIterator<Uint8Array>,
  object: BackupObject,
  identity: string | null,
): Promise<Pieces> {
  const { name, recipient } = object;
  if (identity === null) throw new Error(`${name} is encrypted to ${recipient}: its secret key is needed`);
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  try {
    return await decrypter.decrypt(streamOf(stored));
  } catch (error) {
    throw new Error(
      `Cannot decrypt ${name}: the key given is not that of ${recipient}, or the object is damaged`,
      { cause: error },
    );
  }
}

/** Pulled piece by piece: no more is in memory than is asked for. */
function streamOf(pieces: AsyncIterator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
}
