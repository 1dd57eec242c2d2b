import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { AppError } from "./errors.ts";

/** Encrypts secrets at rest: AES-256-GCM, with the key's id in the header. Decision 0090. */
export interface Secrets {
  /** Whether there is a key to encrypt with. */
  readonly can_seal: boolean;
  /** Encrypts a secret for one context, which `open` must name again. Errors: conflict without a key. */
  seal(secret: string, context: string): string;
  /** Decrypts a secret of that context. Errors: conflict when no key decrypts it, or it was changed. */
  open(sealed: string, context: string): string;
  /** Encrypts with the newest key what an older one encrypted; null where it did already. Errors: as `open`. */
  reseal(sealed: string, context: string): string | null;
}

/** Whether a text is a sealed secret: one that was stored before there was a key is not. */
export function isSealed(stored: string): boolean {
  return stored.startsWith(`${VERSION}.`);
}

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts with the first of the keys (32 bytes each), decrypts with any. */
export function openSecrets(keys: readonly Uint8Array[] | null): Secrets {
  const named = new Map((keys ?? []).map((key) => [nameOf(key), key]));
  const [newest] = named;
  const secrets: Secrets = {
    can_seal: newest !== undefined,
    seal(secret, place) {
      if (newest === undefined) {
        throw new AppError("conflict", "Cannot store a secret: SECRETS_KEY is not set on the deployment");
      }
      const [name, key] = newest;
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(aadOf(name, place));
      const parts = [nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()];
      return `${VERSION}.${name}.${Buffer.concat(parts).toString("base64url")}`;
    },
    open(sealed, place) {
      const [version = "", name = "", text = ""] = sealed.split(".");
      const key = named.get(name);
      if (version !== VERSION || key === undefined) {
        throw new AppError(
          "conflict",
          "Cannot open a stored secret: SECRETS_KEY no longer holds the key that sealed it",
        );
      }
      const bytes = Buffer.from(text, "base64url");
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES);
        const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(aadOf(name, place))
          .setAuthTag(bytes.subarray(-TAG_BYTES));
        const inside = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([inside, decipher.final()]).toString("utf8");
      } catch (cause) {
        throw new AppError("conflict", "Cannot open a stored secret: it was changed or moved", { cause });
      }
    },
    reseal(sealed, place) {
      const is_newest = sealed.startsWith(`${VERSION}.${newest?.[0]}.`);
      return is_newest ? null : secrets.seal(secrets.open(sealed, place), place);
    },
  };
  return secrets;
}

const VERSION = "v1";

/** A non-reversible key id. */
function nameOf(key: Uint8Array): string {
  return createHash("sha256").update("name of a key").update(key).digest("base64url").slice(0, 8);
}

/** Additional authenticated data: binds a ciphertext to its row and column. */
function aadOf(name: string, place: string): Buffer {
  return Buffer.from(JSON.stringify([VERSION, name, place]));
}
