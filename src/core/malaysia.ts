import { invalid } from "./errors.ts";

// How Malaysia numbers its people and their telephones.

const IC_NUMBER = /^(\d{2})(\d{2})(\d{2})-?(\d{2})-?\d{4}$/;
/** Codes of a place of birth that were never given out. */
const NO_PLACE = new Set(["00", "17", "18", "19", "20", "69", "73", "80", "81", "94", "95", "96", "97"]);

/**
 * Reads an IC number (MyKad), with or without dashes, into its 12 digits: a day of birth YYMMDD that is real in
 * 19YY or 20YY, a place of birth, four digits. `readIcNumber("900229-14-5678", "/borrower/ic_number")` throws.
 * Errors: invalid, at `path`; the number is not repeated.
 */
export function readIcNumber(text: string, path: string): string {
  const [, year = "", month = "", day = "", place = ""] = IC_NUMBER.exec(text) ?? [];
  if (place === "") throw invalid(path, "must be an IC number of 12 digits, such as 900131-14-5678");
  if (daysOfBirth(year, month, day).length === 0)
    throw invalid(path, "must be an IC number that begins with a real date, as YYMMDD");
  if (NO_PLACE.has(place)) throw invalid(path, "must be an IC number with a known place of birth");
  return text.replaceAll("-", "");
}

const HIDDEN = "********";

/** An IC number for those who need not know it: all but its last four digits are hidden. */
export function maskIcNumber(ic_number: string): string {
  return `${HIDDEN}${ic_number.slice(-4)}`;
}

/** Whether a text is what `maskIcNumber` makes. */
export function isMaskedIcNumber(text: string): boolean {
  return text.startsWith(HIDDEN) && /^\d{4}$/.test(text.slice(HIDDEN.length));
}

/**
 * The age in whole years, on a day, of the person with this IC number (12 digits). Its year has two digits: of
 * the days of birth that it may mean, the last one that is not after that day is taken.
 */
export function ageOn(ic_number: string, day: Temporal.PlainDate): number {
  const [, year = "", month = "", date = ""] = IC_NUMBER.exec(ic_number) ?? [];
  const born = daysOfBirth(year, month, date)
    .filter((birth) => Temporal.PlainDate.compare(birth, day) <= 0)
    .at(-1);
  if (born === undefined)
    throw new RangeError("Cannot compute the age: not an IC number of a person born yet");
  return born.until(day, { largestUnit: "years" }).years;
}

/** The days that YYMMDD may mean, the earliest first. */
function daysOfBirth(year: string, month: string, day: string): Temporal.PlainDate[] {
  return ["19", "20"].flatMap((century) => {
    try {
      return [Temporal.PlainDate.from(`${century}${year}-${month}-${day}`)];
    } catch {
      return [];
    }
  });
}

const MOBILE = /^(\+?60|0)(1\d{8,9})$/;
const LANDLINE = /^(\+?60|0)([3-9]\d{7,8})$/;
const E164 = /^\+[1-9]\d{6,14}$/;

/**
 * Reads a telephone number into E.164, spaces and dashes aside: a Malaysian one as it is dialled there or with
 * 60 before it, "012-345 6789" → "+60123456789", others as E.164.
 * Errors: invalid, at `path`; the number is not repeated.
 */
export function readPhone(text: string, path: string): string {
  const dialled = text.replaceAll(/[ -]/g, "");
  const [, , national] = MOBILE.exec(dialled) ?? LANDLINE.exec(dialled) ?? [];
  if (national !== undefined) return `+60${national}`;
  if (E164.test(dialled) && !dialled.startsWith("+60")) return dialled;
  throw invalid(path, "must be a Malaysian phone number such as 012-345 6789, or one in E.164, +14155550123");
}
