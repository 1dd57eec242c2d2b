import { timingSafeEqual } from "node:crypto";

/** A new secret of 256 bits. */
export function randomSecret(prefix = ""): string {
  return prefix + Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url");
}

/** Random letters and digits, without those that look alike; 5.8 bits each. */
export function randomAlphanumeric(count: number): string {
  const letters = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
  let made = "";
  while (made.length < count) {
    for (const byte of crypto.getRandomValues(new Uint8Array(32))) {
      // Only whole rounds of the alphabet, so that no letter is likelier than another.
      if (byte < 256 - (256 % letters.length) && made.length < count) made += letters[byte % letters.length];
    }
  }
  return made;
}

/** SHA-256 of a secret: with 256 random bits it needs no password hash. */
export function sha256(secret: string): string {
  return new Bun.CryptoHasher("sha256").update(secret).digest("base64url");
}

/** Whether two texts are equal, compared in constant time. */
export function isSameSecret(a: string, b: string): boolean {
  return timingSafeEqual(Buffer.from(sha256(a)), Buffer.from(sha256(b)));
}
