import { invalid } from "../../core/errors.ts";
import type { CustomerInput } from "./model.ts";

/** What of a known customer may be blank. */
interface KnownCustomer {
  phone: string | null;
  ic_number: string | null;
}

/**
 * What a known customer learns from what is given of the same: blanks are filled, what is known stays.
 * `ic_path` is where the IC number was given. Errors: invalid where it is another person's.
 */
export function fillBlanks(
  customer: KnownCustomer,
  { phone, ic_number }: CustomerInput,
  ic_path: string,
): Partial<Record<keyof KnownCustomer, string>> {
  if (customer.ic_number !== null && ic_number !== undefined && ic_number !== customer.ic_number)
    throw invalid(ic_path, "must be the IC number that is known of the customer with this email");
  return {
    ...(customer.phone === null && phone !== undefined ? { phone } : {}),
    ...(customer.ic_number === null && ic_number !== undefined ? { ic_number } : {}),
  };
}
