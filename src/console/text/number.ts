const whole = new Intl.NumberFormat(undefined, { maximumFractionDigits: 20 });
const short = new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 });
const signedPercent = new Intl.NumberFormat(undefined, {
  style: "percent",
  maximumFractionDigits: 1,
  signDisplay: "exceptZero",
});

const percents = new Intl.NumberFormat(undefined, {
  style: "unit",
  unit: "percent",
  maximumFractionDigits: 20,
});

type Numeric = Parameters<typeof whole.format>[0];
// The service's decimals are texts that Intl reads exactly.
// oxlint-disable-next-line typescript/no-unsafe-type-assertion
const numeric = (value: string | number) => value as Numeric;

/** A number with all of its digits, from a number or a decimal text. */
export const number = (value: string | number): string => whole.format(numeric(value));

/** A large number in few characters, such as 1.2M; whole beside it as a title. */
export const shortNumber = (value: string | number): string =>
  Math.abs(Number(value)) < 10_000 ? number(value) : short.format(numeric(value));

/** A change from one figure to another, such as +12.5%; undefined where there was nothing before. */
export function change(now: number, before: number): string | undefined {
  return before === 0 ? undefined : signedPercent.format((now - before) / Math.abs(before));
}

/** A number of hundredths: "12.5%". */
export const percent = (value: string | number): string => percents.format(numeric(value));

/** "1 event", "2 events". */
export const count = (of: number, one: string, many = `${one}s`): string =>
  `${number(of)} ${of === 1 ? one : many}`;
