import { FieldErrors } from "../../core/field_errors.ts";
import { readCharge, rulesOfCharge, type MetersById } from "../billing_models/charge_rules.ts";
import { isCurrency } from "../../core/money.ts";
import type { AddOn, AddOnChargeInput } from "./model.ts";

/** The fields of an add-on that decide what is charged. They are frozen once a subscription has booked it. */
export type AddOnPricing = Pick<AddOn, "code" | "currency" | "charge">;

/** Reads an add-on's pricing. Errors: invalid, naming every broken rule. */
export function readPricing(
  { code, currency, charge: input }: Omit<AddOnPricing, "charge"> & { charge: AddOnChargeInput },
  meters: MetersById,
): AddOnPricing {
  const errors = new FieldErrors();
  if (!isCurrency(currency)) {
    errors.add({ path: "/currency", message: "must be an ISO 4217 code such as EUR" });
  }
  const read = readCharge({ ...input, code, name: code }, "/charge", errors);
  // Rules across fields apply only once each field can be read.
  errors.refuse();
  errors.add(...rulesOfCharge(read, "/charge", meters));
  errors.refuse();
  const { code: _code, name: _name, quantity: _quantity, ...charge } = read;
  return { code, currency, charge };
}
