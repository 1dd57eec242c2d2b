/**
 * True for the text that JSON.stringify gives a number. Numbers are then compared as numbers: equal ones have one
 * canonical text, while an engine's own text for large ones is not the canonical one.
 */
export function isNumberText(text: string): boolean {
  const number = Number(text);
  return Number.isFinite(number) && JSON.stringify(number) === text;
}
