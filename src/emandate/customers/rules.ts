import { invalid } from "../../core/errors.ts";
import type { CustomerInput } from "./model.ts";

/** The fields of a customer that may be blank. */
interface Blanks {
  phone: string | null;
  ic_number: string | null;
}

/**
 * The blank fields of a customer that the input fills; known values stay.
 * `ic_path` is the field that holds the IC number. Errors: invalid where it is another person's.
 */
export function fillBlanks(
  customer: Blanks,
  { phone, ic_number }: CustomerInput,
  ic_path: string,
): Partial<Record<keyof Blanks, string>> {
  if (customer.ic_number !== null && ic_number !== undefined && ic_number !== customer.ic_number)
    throw invalid(ic_path, "must be the IC number on record for the customer with this email");
  return {
    ...(customer.phone === null && phone !== undefined ? { phone } : {}),
    ...(customer.ic_number === null && ic_number !== undefined ? { ic_number } : {}),
  };
}
