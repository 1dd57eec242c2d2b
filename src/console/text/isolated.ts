/** Letters that run from right to left, and characters that set a direction (Unicode Standard Annex 9). */
const TURNS =
  /[\u0590-\u08FF\u200E\u200F\u202A-\u202E\u2066-\u2069\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
/** Those of them that reach beyond the text that they are in. */
const REACHING = /[\u202A-\u202E\u2066-\u2069]/g;
const END_OF_EMBEDDING = "\u202C";
const END_OF_ISOLATE = "\u2069";

/**
 * A text of others among our words, which it cannot turn around: isolated as by `<bdi>`, without what would end that.
 * Texts alone in an element need it not: the style sheet isolates elements, and what is drawn is `selfContained`.
 */
export function isolated(text: string): string {
  return TURNS.test(text) ? `\u2068${text.replaceAll(REACHING, "")}\u2069` : text;
}

/**
 * A text that sets no direction beyond its end, and ends none that was set before it: it ends what it begins, without
 * the ends of what it did not begin. Its letters stay as they are.
 */
export function selfContained(text: string): string {
  const open: string[] = [];
  const inside = text.replaceAll(REACHING, (mark) => {
    if (mark === END_OF_ISOLATE) {
      // It also ends the embeddings inside of the isolate.
      const begun = open.lastIndexOf(END_OF_ISOLATE);
      return begun === -1 ? "" : open.splice(begun).toReversed().join("");
    }
    if (mark === END_OF_EMBEDDING) return open.at(-1) === END_OF_EMBEDDING ? (open.pop() ?? "") : "";
    open.push(mark >= "\u2066" ? END_OF_ISOLATE : END_OF_EMBEDDING);
    return mark;
  });
  return inside + open.toReversed().join("");
}
