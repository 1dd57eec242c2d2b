import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { unmendable } from "../core/exit_codes.ts";
import { SHARED_LIMITS } from "../core/limits.ts";

/** The signing secret of this data directory, made on the first start. Errors: throws when it was damaged. */
export function loadJwtSecret(data_dir: string): string {
  const file = join(data_dir, "jwt_secret");
  if (!existsSync(file)) {
    const secret = Buffer.from(crypto.getRandomValues(new Uint8Array(48))).toString("base64url");
    // Written aside and moved, so that a power cut leaves the whole file or none.
    writeFileSync(`${file}.new`, secret, { mode: 0o600, flush: true });
    renameSync(`${file}.new`, file);
  }
  chmodSync(file, 0o600);
  const stored = readFileSync(file, "utf8").trim();
  if (stored.length < SHARED_LIMITS.secret_bytes) {
    throw unmendable(`Cannot sign tokens: ${file} is damaged; remove it, and everyone signs in again`);
  }
  return stored;
}
