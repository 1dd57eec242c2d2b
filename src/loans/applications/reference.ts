/** Crockford's base 32: no two characters look alike. */
const LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 8;

/** A new reference for people: LA-20261121-7K3M9Q2X. */
export function newReference(now: Temporal.Instant): string {
  const day = now.toString().slice(0, 10).replaceAll("-", "");
  const bytes = crypto.getRandomValues(new Uint8Array(LENGTH));
  return `LA-${day}-${Array.from(bytes, (byte) => LETTERS[byte % LETTERS.length]).join("")}`;
}
