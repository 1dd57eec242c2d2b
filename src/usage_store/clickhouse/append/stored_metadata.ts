// Metadata as it is stored: canonical JSON whose scalars are all strings, so that the engine's JSON functions give each
// as it was. They fail on whole numbers of over 64 bits, and write others in a way of their own. A number, boolean or
// null becomes a string of `#` and its text. A string that is empty, or begins with `#`, `{` or `[`, gets a `#` before it:
// for an object or array the engine gives its JSON. None: no text.

const MARK = "#";

/** A string, with the colon after it where it is a key, or another scalar. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"(:)?|-?[0-9][-+.0-9eE]*|true|false|null/g;
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(:)?/g;

/** The stored form of canonical JSON text. */
export function storedMetadata(json: string | null): string {
  if (json === null) return "";
  return json.replaceAll(TOKEN, (token: string, colon: string | undefined) => {
    if (colon !== undefined) return token;
    if (!token.startsWith('"')) return `"${MARK}${token}"`;
    return isMarked(token[1] ?? "") ? `"${MARK}${token.slice(1)}` : token;
  });
}

/** The canonical JSON text of the stored form. */
export function readMetadata(stored: string): string | null {
  if (stored === "") return null;
  return stored.replaceAll(STRING, (token: string, colon: string | undefined) => {
    if (colon !== undefined || !token.startsWith(`"${MARK}`)) return token;
    return isMarked(token[2] ?? "") ? `"${token.slice(2)}` : token.slice(2, -1);
  });
}

/** A string as it stands in the stored form, before it is quoted. */
export function storedText(text: string): string {
  return text === "" || MARKED.includes(text[0] ?? "") ? MARK + text : text;
}

const QUOTE = '"';
const MARKED: readonly string[] = [MARK, "{", "["];

/** Whether a quoted string gets a mark whose first character is this: the quote of an empty one, too. */
function isMarked(first: string): boolean {
  return first === QUOTE || MARKED.includes(first);
}

/** Another scalar as it stands there, by its JSON text. */
export function storedScalar(json: string): string {
  return MARK + json;
}

/** A pattern for `replaceRegexpAll` and what replaces it, by which the engine makes the canonical text of any metadata. */
export const CANONICAL = {
  pattern: String.raw`("(?:[^"\\]|\\.)*":)|"#([-0-9tfn][^"]*)"|(")#([#{\[](?:[^"\\]|\\.)*"|")|("(?:[^"\\]|\\.)*")`,
  replacement: String.raw`\1\2\3\4\5`,
};

/**
 * The same for metadata that `NOT_PLAIN` does not match, at a twentieth of the time: what is marked in it are numbers,
 * booleans and nulls that are members of objects, and each quote begins or ends a string.
 */
export const PLAIN_CANONICAL = { pattern: ':"#([^"]*)"', replacement: String.raw`:\1` };
export const NOT_PLAIN = String.raw`\\|[^:]"#|"#[^-0-9tfn]`;

/** A pattern for `extractAll`: the strings that are values, and nothing of keys and other scalars. */
export const STRINGS_PATTERN = String.raw`"(?:[^"\\]|\\.)*":|"#[-0-9tfn][^"]*"|("(?:[^"\\]|\\.)*")`;
