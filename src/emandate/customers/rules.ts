import { invalid } from "../../core/errors.ts";
import type { GivenCustomer } from "./model.ts";

/** What of a known customer may be blank. */
interface Known {
  phone: string | null;
  ic_number: string | null;
}

/**
 * What a known customer learns from what is given of the same: blanks are filled, what is known stays.
 * `ic_path` is where the IC number was given. Errors: invalid where it is another person's.
 */
export function learned(
  known: Known,
  { phone, ic_number }: GivenCustomer,
  ic_path: string,
): Partial<Record<keyof Known, string>> {
  if (known.ic_number !== null && ic_number !== undefined && ic_number !== known.ic_number)
    throw invalid(ic_path, "must be the IC number that is known of the customer with this email");
  return {
    ...(known.phone === null && phone !== undefined ? { phone } : {}),
    ...(known.ic_number === null && ic_number !== undefined ? { ic_number } : {}),
  };
}
