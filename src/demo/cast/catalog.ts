import type { Static } from "@sinclair/typebox";
import type { CreateAddOn } from "../../billing/add_ons/model.ts";
import type { CreateBillingModel } from "../../billing/billing_models/model.ts";
import type { CreateFeature } from "../../billing/features/model.ts";
import type { CreateMeter } from "../../billing/meters/model.ts";

export const PRODUCT_KEYS = ["chat", "embed", "documents", "speech", "images"] as const;
export type ProductKey = (typeof PRODUCT_KEYS)[number];

/** What the company sells. */
export const PRODUCTS: Readonly<Record<ProductKey, string>> = {
  chat: "Chat completions",
  embed: "Embeddings",
  documents: "Document reading",
  speech: "Speech to text",
  images: "Image generation",
};

export const METERS = [
  { code: "requests", name: "Requests", aggregation: "count" },
  {
    code: "input_tokens",
    name: "Input tokens",
    aggregation: "sum",
    value: [{ key: "metadata:input_tokens" }],
    group_keys: ["model"],
  },
  {
    code: "output_tokens",
    name: "Output tokens",
    aggregation: "sum",
    value: [{ key: "metadata:output_tokens" }],
    group_keys: ["model"],
  },
  { code: "people", name: "People", aggregation: "unique", value: [{ key: "metadata:user" }] },
] as const satisfies readonly Static<typeof CreateMeter>[];
export type MeterCode = (typeof METERS)[number]["code"];

/** Features; `meter` is the code of what a limit counts by. */
export const FEATURES: readonly (Omit<Static<typeof CreateFeature>, "meter_id"> & { meter?: MeterCode })[] = [
  { code: "output_tokens", name: "Output tokens", kind: "limit", meter: "output_tokens" },
  { code: "requests", name: "Requests", kind: "limit", meter: "requests" },
  { code: "sso", name: "Single sign-on", kind: "switch" },
  { code: "support", name: "Support", kind: "value" },
];

/** Ids by the code of their meter. */
export type MeterIds = (code: MeterCode) => number;

/** A billing model of the catalog; of a plan of two currencies there are two. */
export interface CatalogPlan {
  key: string;
  model: (meters: MeterIds) => CreateBillingModel;
}

const RINGGIT = { currency: "MYR", description: "" };
const DOLLARS = { currency: "USD", description: "" };
const MILLION = "1000000";

/** Prices of input or output by the model that answered. */
function byModel(price: string, large: string, code: string) {
  return {
    price,
    per: MILLION,
    prices: [
      { match: { model: "horn-large" }, price: large },
      { match: { model: "horn-large-2" }, price: large },
      { match: { model: "horn-code" }, price: code },
    ],
  };
}

/** A monthly fee, and input and output priced apart. */
function platform(
  key: string,
  terms: { currency: string; price: string; input: string[]; output: string[] },
) {
  const { currency, price } = terms;
  const [mini = "", large = "", code = ""] = terms.input;
  const [mini_out = "", large_out = "", code_out = ""] = terms.output;
  return {
    key,
    model: (meters: MeterIds): CreateBillingModel => ({
      billing_type_id: 1,
      name: `Platform${currency === "USD" ? ", USD" : ""}`,
      price,
      currency,
      description: "Input and output priced apart, by the model that answers",
      plan_code: "platform",
      charges: [
        {
          code: "input",
          name: "Input",
          type: "per_unit",
          meter_id: meters("input_tokens"),
          ...byModel(mini, large, code),
        },
        {
          code: "output",
          name: "Output",
          type: "per_unit",
          meter_id: meters("output_tokens"),
          ...byModel(mini_out, large_out, code_out),
        },
      ],
      commitment: { minimum: price, maximum: null, interval: "month" },
      entitlements: [
        { feature: "output_tokens", limit: "60000000", window: "month", hard: false },
        { feature: "sso", enabled: true },
        { feature: "support", value: "next working day" },
      ],
    }),
  };
}

/** Credits of a month, one for each token. */
const credits = (key: string, name: string, price: string, monthly_credits: number): CatalogPlan => ({
  key,
  model: () => ({
    ...RINGGIT,
    billing_type_id: 6,
    name,
    price,
    credit_plan: { monthly_credits, credit_consumption: "per_unit", overage_rate: "0.00006" },
    entitlements: [{ feature: "requests", limit: "2000", window: "day", hard: false }],
  }),
});

export const PLANS: readonly CatalogPlan[] = [
  {
    key: "chat/payg",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 2,
      name: "Pay as you go",
      price: "0.00005",
      recurring_fee: "49",
      free_units: "100000",
      entitlements: [{ feature: "requests", limit: "5000", window: "day", hard: true }],
    }),
  },
  {
    key: "chat/payg-2",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 2,
      name: "Pay as you go 2",
      price: "0.000044",
      recurring_fee: "59",
      free_units: "100000",
      setup_fee: "0",
      trial_days: 14,
      entitlements: [{ feature: "requests", limit: "5000", window: "day", hard: true }],
    }),
  },
  {
    key: "chat/payg-usd",
    model: () => ({
      ...DOLLARS,
      billing_type_id: 2,
      name: "Pay as you go, USD",
      price: "0.000011",
      recurring_fee: "15",
      minimum_charge: "25",
    }),
  },
  {
    key: "chat/scale",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 3,
      name: "Scale",
      plan_code: "scale",
      price: "290",
      usage_tiers: [
        { up_to: "5000000", unit_price: "0.000045" },
        { up_to: "50000000", unit_price: "0.000032" },
        { up_to: null, unit_price: "0.000024" },
      ],
      setup_fee: "500",
    }),
  },
  {
    key: "chat/scale-usd",
    model: () => ({
      ...DOLLARS,
      billing_type_id: 3,
      name: "Scale, USD",
      plan_code: "scale",
      price: "75",
      usage_tiers: [
        { up_to: "5000000", unit_price: "0.00001" },
        { up_to: "50000000", unit_price: "0.0000075" },
        { up_to: null, unit_price: "0.0000055" },
      ],
    }),
  },
  platform("chat/platform", {
    currency: "MYR",
    price: "450",
    input: ["9", "38", "21"],
    output: ["27", "112", "64"],
  }),
  platform("chat/platform-usd", {
    currency: "USD",
    price: "110",
    input: ["2.2", "9", "5"],
    output: ["6.5", "27", "15"],
  }),
  credits("chat/credits", "Starter credits", "120", 2_000_000),
  credits("chat/growth", "Growth credits", "420", 8_000_000),
  credits("chat/business", "Business credits", "1400", 30_000_000),
  {
    key: "chat/team",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 1,
      name: "Team",
      price: "299",
      fee_timing: "in_advance",
      entitlements: [
        { feature: "requests", limit: "300", window: "day", hard: false },
        { feature: "support", value: "email" },
      ],
    }),
  },
  {
    key: "chat/enterprise-usd",
    model: () => ({
      ...DOLLARS,
      billing_type_id: 1,
      name: "Enterprise, by the quarter",
      price: "1600",
      fee_timing: "in_advance",
      fee_interval: "quarter",
      entitlements: [
        { feature: "sso", enabled: true },
        { feature: "support", value: "within the hour" },
      ],
    }),
  },
  {
    key: "embed/volume",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 4,
      name: "Embeddings by volume",
      price: "0",
      usage_tiers: [
        { up_to: "20000000", unit_price: "0.0000030" },
        { up_to: "200000000", unit_price: "0.0000022" },
        { up_to: null, unit_price: "0.0000016" },
      ],
      minimum_charge: "20",
      charge_flat_on_zero: false,
    }),
  },
  {
    key: "embed/volume-usd",
    model: () => ({
      ...DOLLARS,
      billing_type_id: 4,
      name: "Embeddings by volume, USD",
      price: "0",
      usage_tiers: [
        { up_to: "20000000", unit_price: "0.0000008" },
        { up_to: null, unit_price: "0.0000005" },
      ],
    }),
  },
  {
    key: "documents/packs",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 5,
      name: "Pages by the thousand",
      price: "38",
      package_size: "1000",
      recurring_fee: "25",
    }),
  },
  {
    key: "documents/packs-usd",
    model: () => ({
      ...DOLLARS,
      billing_type_id: 5,
      name: "Pages by the thousand, USD",
      price: "9",
      package_size: "1000",
      maximum_charge: "900",
    }),
  },
  {
    key: "speech/seconds",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 3,
      name: "Speech by the second",
      price: "0",
      usage_tiers: [
        { up_to: "36000", unit_price: "0.005" },
        { up_to: null, unit_price: "0.0035" },
      ],
    }),
  },
  {
    key: "images/calls",
    model: () => ({
      ...RINGGIT,
      billing_type_id: 6,
      name: "Image credits",
      price: "150",
      credit_plan: { monthly_credits: 1_000, credit_consumption: "per_api_call", overage_rate: "0.18" },
    }),
  },
];

/** What a request costs the company itself. */
export const COST_MODEL = (meters: MeterIds): CreateBillingModel => ({
  ...RINGGIT,
  billing_type_id: 1,
  name: "What our own machines cost",
  purpose: "cost",
  price: "0",
  charges: [
    {
      code: "input",
      name: "Input",
      type: "per_unit",
      meter_id: meters("input_tokens"),
      ...byModel("3", "13", "8"),
    },
    {
      code: "output",
      name: "Output",
      type: "per_unit",
      meter_id: meters("output_tokens"),
      ...byModel("9", "36", "22"),
    },
  ],
});

/** Add-ons; `meter` is the code of what a metered one counts by. */
export const ADD_ONS: readonly {
  add_on: Static<typeof CreateAddOn>;
  meter?: MeterCode;
}[] = [
  {
    add_on: {
      code: "seats",
      name: "More seats",
      currency: "MYR",
      charge: { type: "fixed", price: "35" },
      entitlements: [{ feature: "requests", limit: "200", window: "day" }],
    },
  },
  {
    add_on: {
      code: "priority",
      name: "Priority lane",
      currency: "MYR",
      charge: { type: "fixed", price: "380" },
    },
  },
  {
    add_on: {
      code: "priority_usd",
      name: "Priority lane, USD",
      currency: "USD",
      charge: { type: "fixed", price: "90" },
    },
  },
  {
    add_on: {
      code: "guardrails",
      name: "Guardrails",
      currency: "MYR",
      charge: { type: "per_unit", price: "0.004" },
    },
    meter: "requests",
  },
];
