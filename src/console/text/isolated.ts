/** Letters that run from right to left, and characters that set a direction (Unicode Standard Annex 9). */
const TURNS =
  /[\u0590-\u08FF\u200E\u200F\u202A-\u202E\u2066-\u2069\uFB1D-\uFDFF\uFE70-\uFEFF\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
/** Those of them that reach beyond the text that they are in. */
const REACHING = /[\u202A-\u202E\u2066-\u2069]/g;

/**
 * A text of others among our words, which it cannot turn around: isolated as by `<bdi>`, without what would end that.
 * Texts alone in an element need it not: the style sheet isolates elements.
 */
export function isolated(text: string): string {
  return TURNS.test(text) ? `\u2068${text.replaceAll(REACHING, "")}\u2069` : text;
}
