/** What texts elsewhere may say of a person, and the files to be removed. */
export interface Traces {
  /** Emails and names of more than one word. */
  readonly texts: readonly string[];
  /** Phone and identity numbers, as digits. */
  readonly numbers: readonly string[];
  /** Names of documents' contents that nothing refers to any more. */
  readonly files: readonly string[];
}

export const NO_TRACES: Traces = { texts: [], numbers: [], files: [] };

/** What stands in a text for what was erased. */
export const ERASED = "[erased]";

/** Digits below which a number tells nobody apart. */
const NUMBER_DIGITS = 7;

/** What is written down of a person. */
export interface Facts {
  readonly name?: string | null;
  readonly email?: string | null;
  readonly phone?: string | null;
  readonly numbers?: readonly (string | null)[];
}

/**
 * What to look for in texts. A name of one word is left out: "Gold" is a client's name, and a product's. So is a number
 * of few digits.
 */
export function tracesOf({ name = null, email = null, phone = null, numbers = [] }: Facts): Traces {
  const words = name?.trim().replaceAll(/\s+/g, " ") ?? "";
  const digits = [phone, ...numbers].map((number) => (number ?? "").replaceAll(/\D/g, ""));
  return {
    texts: [...(email === null ? [] : [email]), ...(words.includes(" ") ? [words] : [])],
    numbers: digits.filter((number) => number.length >= NUMBER_DIGITS),
    files: [],
  };
}

const distinct = (lists: readonly (readonly string[])[]) => [...new Set(lists.flat())];

export function joinTraces(all: readonly Traces[]): Traces {
  return {
    texts: distinct(all.map(({ texts }) => texts)),
    numbers: distinct(all.map(({ numbers }) => numbers)),
    files: distinct(all.map(({ files }) => files)),
  };
}

/** Replaces what a text says of the people; the same text where it says nothing. */
export type Scrub = (text: string) => string;

/** Between the digits of a number as people write it. */
const BETWEEN = "[\\s().-]{0,2}";

/**
 * Makes the replacement for traces: whole words, whatever the case; numbers however they are grouped, and Malaysian ones
 * with or without their country code. Null where there is nothing to look for.
 */
export function scrubbing({ texts, numbers }: Traces): Scrub | null {
  const words = texts.map((text) =>
    text
      .split(" ")
      .map((word) => RegExp.escape(word))
      .join("\\s+"),
  );
  const grouped = numbers.map((number) => {
    const national = number.startsWith("60") ? number.slice(2) : null;
    const digits = (national ?? number).split("").join(BETWEEN);
    return national === null
      ? `\\+?${digits}`
      : `(?:\\+?${["6", "0"].join(BETWEEN)}${BETWEEN}|0${BETWEEN})?${digits}`;
  });
  const alternatives = [
    ...(words.length > 0 ? [`(?<![\\p{L}\\p{N}])(?:${words.join("|")})(?![\\p{L}\\p{N}])`] : []),
    ...(grouped.length > 0 ? [`(?<!\\p{N})(?:${grouped.join("|")})(?!\\p{N})`] : []),
  ];
  if (alternatives.length === 0) return null;
  const pattern = new RegExp(alternatives.join("|"), "giu");
  return (text) => text.replaceAll(pattern, ERASED);
}

/** The same value with every text in it scrubbed; the very same one where nothing changes. */
export function scrubValue(value: unknown, scrub: Scrub): unknown {
  if (typeof value === "string") return scrub(value);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value);
  const scrubbed = members.map(([name, member]) => [scrub(name), scrubValue(member, scrub)] as const);
  if (scrubbed.every(([name, member], i) => name === members[i]?.[0] && member === members[i]?.[1]))
    return value;
  return Array.isArray(value) ? scrubbed.map(([, member]) => member) : Object.fromEntries(scrubbed);
}
