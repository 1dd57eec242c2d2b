// Amounts come as decimal texts and are shown as such: Intl reads texts exactly, without a float between.

const formats = new Map<string, Intl.NumberFormat>();

function format(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = JSON.stringify(options);
  const known = formats.get(key) ?? new Intl.NumberFormat(undefined, options);
  formats.set(key, known);
  return known;
}

/** A decimal text, as Intl takes it. */
function decimal(text: string): Intl.StringNumericLiteral {
  // Its type admits only literals; the service's decimals are of that form.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return text as Intl.StringNumericLiteral;
}

/** An amount in its currency, with the currency's decimals: "MYR 1,234.50". */
export function money(amount: string, currency: string): string {
  return format({ style: "currency", currency, currencyDisplay: "code" }).format(decimal(amount));
}

/** A price for a unit, with all of its decimals: "MYR 0.000250". */
export function unitPrice(amount: string, currency: string): string {
  const digits = amount.split(".")[1]?.replace(/0+$/, "").length ?? 0;
  const exact = {
    minimumFractionDigits: Math.max(2, Math.min(20, digits)),
    maximumFractionDigits: Math.max(2, Math.min(20, digits)),
  };
  return format({ style: "currency", currency, currencyDisplay: "code", ...exact }).format(decimal(amount));
}

/** Whether an amount is below zero. */
export const isNegative = (amount: string): boolean => amount.startsWith("-");
