import { type CanonicalJson, canonicalJson, parseMetadata } from "./metadata.ts";
import { look, placeOf } from "./meter_reader.ts";

/** What stands in place of metadata that was erased, where nothing of it is kept. Decision 0206. */
export const ERASED = canonicalJson({ erased: true });

/** The key that says so: no meter may read it. */
export const ERASED_KEY = "erased";

/**
 * The text of metadata (null for none) once it is erased: `erased`, and what is at the keys to keep, as meters read it.
 * Each stands there as a key of its own, since a key is looked up whole before it is looked up as a path. Objects and
 * arrays go: no meter reads a value of them. Decision 0238.
 */
export function erasedMetadata(text: string | null, keep: readonly string[]): CanonicalJson {
  if (keep.length === 0) return ERASED;
  const object = text === null ? null : parseMetadata(text);
  const kept = keep.flatMap((key) => {
    const found = look(object, placeOf(key));
    return found === undefined || (typeof found === "object" && found !== null) ? [] : [[key, found]];
  });
  return canonicalJson(Object.fromEntries([...kept, [ERASED_KEY, true]]));
}

/**
 * Whether stored metadata is what an erasure made of other metadata: then an event is the same. Of what was kept nothing may
 * differ.
 */
export function isErasedFrom(stored: string | null, sent: string | null): boolean {
  if (stored === ERASED) return true;
  if (stored === null || !stored.includes(`"${ERASED_KEY}":true`)) return false;
  const { [ERASED_KEY]: mark, ...kept } = parseMetadata(stored);
  return mark === true && erasedMetadata(sent, Object.keys(kept)) === stored;
}
