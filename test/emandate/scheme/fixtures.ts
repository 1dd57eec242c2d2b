import type { SchemeOrder } from "../../../src/emandate/scheme/connector.ts";

/** What differs from the order below, of which the mandate only in part. */
export type OrderParts = Partial<Omit<SchemeOrder, "mandate">> & {
  mandate?: Partial<SchemeOrder["mandate"]>;
};

/** An enrolment that awaits its customer, but for what is said otherwise. */
export function order({ mandate, ...parts }: OrderParts = {}): SchemeOrder {
  return {
    order_no: "EN0000000001",
    kind: "enrolment",
    awaits: "authorization",
    amount: "1.00",
    submitted_at: Temporal.Instant.from("2026-11-21T01:02:03Z"),
    description: null,
    ...parts,
    mandate: {
      reference: "EM-20261121-000001",
      scheme_reference: null,
      customer_name: "Successful Siti",
      customer_email: "siti@example.com",
      customer_ic_number: "900131145678",
      bank_code: "MB2U0227",
      max_amount: "500.00",
      max_no_debit: "1",
      frequency_mode: "MT",
      effective_date: null,
      expiry_date: null,
      ...mandate,
    },
  };
}

/** A debit that awaits its payment. */
export function debit(parts: OrderParts = {}): SchemeOrder {
  return order({ order_no: "DD0000000001", kind: "debit", awaits: "payment", amount: "100.00", ...parts });
}
