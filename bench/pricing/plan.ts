/** The meters of a plan for requests to a language model: what went in, out, and how many, by how many users. */
export const METERS = [
  {
    code: "input",
    name: "Input tokens",
    value: [{ key: "metadata:input" }, { key: "metadata:cached", times: "-1" }],
  },
  { code: "cached", name: "Cached tokens", value: [{ key: "metadata:cached" }] },
  { code: "output", name: "Output tokens", value: [{ key: "metadata:output" }] },
  {
    code: "requests",
    name: "Requests",
    aggregation: "count",
    filters: [{ key: "status", op: "in", values: ["200"] }],
  },
  { code: "users", name: "Users", aggregation: "unique", value: [{ key: "metadata:user" }] },
].map((meter) => ({ aggregation: "sum", group_keys: ["model"], ...meter }));

/** What is limited: a meter that reads metadata. */
export const FEATURE = { code: "output", name: "Output tokens", kind: "limit", meter: "output" };

/** A limit by month for each subscription, far above what it uses. */
export const ENTITLEMENT = { feature: FEATURE.code, limit: "1000000000000", window: "month", hard: true };

/** A plan of five charges, by the ids of the meters; `percent` of their prices. */
export function planOf(meter_ids: Readonly<Record<string, number>>, percent = 100) {
  const price = (cents: number) => ((cents * percent) / 10_000).toFixed(6);
  const perMillion = (code: string, cents: number, small: number) => ({
    type: "per_unit",
    price: price(cents),
    per: "1000000",
    prices: [{ match: { model: "small" }, price: price(small) }],
    code,
  });
  const charges = [
    perMillion("input", 300, 25),
    perMillion("cached", 30, 3),
    perMillion("output", 1_500, 125),
    {
      code: "requests",
      type: "graduated",
      usage_tiers: [
        { up_to: "500", unit_price: price(1) },
        { up_to: null, unit_price: price(0.5), flat_fee: price(100) },
      ],
    },
    { code: "users", type: "package", price: price(500), package_size: "10" },
  ];
  return {
    billing_type_id: 1,
    name: `Requests at ${percent} %`,
    description: "",
    price: 20,
    currency: "USD",
    charges: charges.map((charge) => ({ ...charge, name: charge.code, meter_id: meter_ids[charge.code] })),
  };
}
