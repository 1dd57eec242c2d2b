/** A billing model with credits in MYR, as it is created: `price` a month for `monthly_credits`, 0.03 for each beyond. */
export const creditModel = (name: string, price: string, monthly_credits: number) => ({
  billing_type_id: 6,
  name,
  price,
  currency: "MYR",
  description: "",
  credit_plan: { monthly_credits, credit_consumption: "per_unit", overage_rate: "0.03" },
});
