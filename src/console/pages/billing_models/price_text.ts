import type { BillingModel } from "../../../billing/billing_models/model.ts";
import { money, unitPrice } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";

/** A JSON number as a decimal text, without an exponent. */
const decimalOf = (price: number): string =>
  price.toLocaleString("en", { useGrouping: false, maximumFractionDigits: 20 });

/** What a billing model costs, in a line. */
export function priceText(model: BillingModel): string {
  const { billing_type, currency, usage_tiers, package_size, credit_plan } = model;
  const price = decimalOf(model.price);
  const fee = model.recurring_fee === "0" ? "" : ` + ${money(model.recurring_fee, currency)} a month`;
  if (billing_type === "flat") return `${money(price, currency)} a month`;
  if (billing_type === "per_unit") return `${unitPrice(price, currency)} a unit${fee}`;
  if (billing_type === "package")
    return `${unitPrice(price, currency)} for each ${number(package_size ?? "1")}${fee}`;
  if (billing_type === "credit")
    return `${money(price, currency)} a month with ${count(credit_plan?.monthly_credits ?? 0, "credit")}`;
  return `${count(usage_tiers.length, "tier")}${model.price === 0 ? "" : ` + ${money(price, currency)} a month`}`;
}
