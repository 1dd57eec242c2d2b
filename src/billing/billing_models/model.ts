import { type Static, Type } from "@sinclair/typebox";
import { LIMITS } from "../limits.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import {
  At,
  Id,
  idsField,
  Name,
  nullable,
  oneOf,
  pageFields,
  Search,
  sortedBy,
  strict,
} from "../../core/schema.ts";
import { Currency } from "../../tenancy/companies/model.ts";
import { DecimalInput, DecimalText, nullableDecimal } from "../decimals.ts";
import { Entitlement, EntitlementInput } from "../features/entitlement_model.ts";
import { Code } from "../meters/model.ts";
import {
  Charge,
  ChargeInput,
  Commitment,
  CommitmentInput,
  UsageTier,
  UsageTierInput,
} from "./charge_model.ts";
import { FeeIntervalName, FeeTimingName, TrialDays } from "./fee_terms.ts";
import { BILLING_TYPES, type BillingType } from "./billing_types.ts";

const CREDIT_CONSUMPTIONS = ["per_api_call", "per_unit"] as const;

const CREDIT_RATES = "the credits that a unit of each meter takes, in place of one for each unit of usage";

export const CreditPlan = Type.Object(
  {
    monthly_credits: Type.Integer({ minimum: 0 }),
    credit_consumption: oneOf(CREDIT_CONSUMPTIONS),
    overage_rate: nullable(DecimalText),
    rates: Type.Optional(
      Type.Array(Type.Object({ meter_id: Id, credits: DecimalText }), { description: CREDIT_RATES }),
    ),
  },
  { title: "CreditPlan" },
);
export type CreditPlan = Static<typeof CreditPlan>;

const BillingTypeName = Type.Unsafe<BillingType>(
  Type.Union(BILLING_TYPES.map(({ billing_type }) => Type.Literal(billing_type))),
);

const fields = {
  id: Id,
  name: Type.String(),
  billing_type_id: Id,
  price: Type.Number({ description: "its meaning depends on the billing type" }),
  currency: Type.String(),
  description: Type.String(),
  company_id: Id,
  recurring_fee: DecimalText,
  free_units: DecimalText,
  usage_tiers: Type.Array(UsageTier),
  package_size: nullable(DecimalText),
  minimum_charge: nullable(DecimalText),
  maximum_charge: nullable(DecimalText),
  charge_flat_on_zero: Type.Boolean(),
  credit_plan: nullable(CreditPlan),
  status: oneOf(["active", "archived"]),
  created_at: At,
  updated_at: At,
};

/** What a model says: what subscriptions are charged, or what their usage costs the company. */
export const PURPOSES = ["price", "cost"] as const;

/** What not every model has: meters and charges, what a start costs, and whom it is offered to. */
const charging = {
  purpose: oneOf(PURPOSES, "cost: what usage costs the company; no subscription may take it"),
  meter_id: nullable(Id),
  charges: Type.Array(Charge),
  commitment: nullable(Commitment),
  setup_fee: Type.String({ description: "charged once, in a subscription's first record" }),
  trial_days: TrialDays,
  entitlements: Type.Array(Entitlement),
  fee_interval: FeeIntervalName,
  fee_timing: FeeTimingName,
  plan_code: nullable(Type.String({ description: "its price book: one model for each currency" })),
  for_client_id: nullable({ ...Id, description: "the only client whose subscriptions may take it" }),
};

/**
 * A price for subscriptions. `price` is a JSON number of at most 15 significant digits, every other decimal is text.
 * Fields of meters, charges, fees at the start or in advance and of whom it is offered to are there where they are set.
 */
export const BillingModel = Type.Object(
  { ...fields, billing_type: BillingTypeName, ...Type.Partial(Type.Object(charging)).properties },
  { title: "BillingModel" },
);
export type BillingModel = Static<typeof BillingModel>;

/** A billing model as it is stored. */
export const StoredBillingModel = Type.Object({ ...fields, ...charging });
export type StoredBillingModel = Static<typeof StoredBillingModel>;

/** Whom a model is offered to, its price book and the only client that may take it; and what it grants. */
export type Offer = Pick<StoredBillingModel, "plan_code" | "for_client_id" | "entitlements">;

/** A billing type: the meaning of `price`, and the price fields it takes. */
export const BillingTypeInfo = Type.Object(
  {
    id: Id,
    name: BillingTypeName,
    price_means: Type.String(),
    needs: Type.Array(Type.String(), { description: "fields that must be given" }),
    optional: Type.Array(Type.String(), { description: "fields that may be given; all others are refused" }),
  },
  { title: "BillingType" },
);

const CreditPlanInput = strict(
  {
    monthly_credits: Type.Integer({ minimum: 0 }),
    credit_consumption: oneOf(CREDIT_CONSUMPTIONS),
    overage_rate: Type.Optional(nullableDecimal()),
    rates: Type.Optional(
      Type.Array(strict({ meter_id: Id, credits: DecimalInput }), {
        minItems: 1,
        maxItems: LIMITS.credit_rates,
        description: `${CREDIT_RATES}: 1 to ${LIMITS.credit_rates}, each of another meter of count or sum`,
      }),
    ),
  },
  { title: "CreditPlanInput" },
);

const Description = Type.String({
  maxLength: SHARED_LIMITS.description_length,
  description: `at most ${SHARED_LIMITS.description_length} characters`,
});

const optionalPricing = {
  recurring_fee: Type.Optional(DecimalInput),
  free_units: Type.Optional(DecimalInput),
  usage_tiers: Type.Optional(Type.Array(UsageTierInput, { maxItems: LIMITS.usage_tiers })),
  package_size: Type.Optional(nullableDecimal()),
  minimum_charge: Type.Optional(nullableDecimal()),
  maximum_charge: Type.Optional(nullableDecimal()),
  charge_flat_on_zero: Type.Optional(Type.Boolean()),
  credit_plan: Type.Optional(
    Type.Union([CreditPlanInput, Type.Null()], {
      description:
        "null or an object with monthly_credits (a whole number), credit_consumption (per_api_call or per_unit) and, optionally, overage_rate (a decimal or null) and rates",
    }),
  ),
  meter_id: Type.Optional(nullable(Id)),
  charges: Type.Optional(Type.Array(ChargeInput, { maxItems: LIMITS.charges })),
  commitment: Type.Optional(nullable(CommitmentInput)),
  setup_fee: Type.Optional(DecimalInput),
  trial_days: Type.Optional(TrialDays),
  fee_interval: Type.Optional(FeeIntervalName),
  fee_timing: Type.Optional(FeeTimingName),
};

export const ListBillingModels = strict({
  ids: idsField,
  search: Type.Optional(Search),
  plan_code: Type.Optional(Code),
  currency: Type.Optional(Currency),
  for_client_id: Type.Optional(Id),
  sort: sortedBy(["id", "name", "created_at"]),
  ...pageFields,
});

export type ListBillingModels = Static<typeof ListBillingModels>;

/** Whom a model is offered to, and what it grants. */
const offer = {
  plan_code: Type.Optional(nullable(Code)),
  for_client_id: Type.Optional(nullable(Id)),
  entitlements: Type.Optional(Type.Array(EntitlementInput, { maxItems: LIMITS.entitlements })),
};

export const CreateBillingModel = strict(
  {
    billing_type_id: Id,
    name: Name,
    price: DecimalInput,
    currency: Currency,
    description: Description,
    purpose: Type.Optional(
      oneOf(PURPOSES, "cost: what usage costs the company, for margins; no subscription may take it"),
    ),
    ...optionalPricing,
    ...offer,
  },
  {
    title: "CreateBillingModel",
    examples: [
      {
        billing_type_id: 1,
        name: "Pro",
        price: "20",
        currency: "USD",
        description: "",
        plan_code: "pro",
        charges: [
          {
            code: "input",
            name: "Input",
            type: "per_unit",
            meter_id: 1,
            price: "3",
            per: "1000000",
            prices: [{ match: { model: "small" }, price: "0.25" }],
          },
          {
            code: "output",
            name: "Output",
            type: "graduated",
            meter_id: 2,
            usage_tiers: [
              { up_to: "1000000", unit_price: "0.000015" },
              { up_to: null, unit_price: "0.000012" },
            ],
          },
        ],
        commitment: { minimum: "100", maximum: null, interval: "month" },
        entitlements: [
          { feature: "output_tokens", limit: "5000000", window: "month", hard: true },
          { feature: "sso", enabled: true },
        ],
      },
      {
        billing_type_id: 2,
        name: "Per token",
        price: "0.00001",
        currency: "USD",
        description: "",
        meter_id: 2,
        setup_fee: "50",
        trial_days: 14,
      },
    ],
  },
);
export type CreateBillingModel = Static<typeof CreateBillingModel>;

export const UpdateBillingModel = strict(
  {
    id: Id,
    name: Name,
    description: Description,
    billing_type_id: Type.Optional(Id),
    price: Type.Optional(DecimalInput),
    currency: Type.Optional(Currency),
    ...optionalPricing,
    ...offer,
  },
  { title: "UpdateBillingModel", examples: [{ name: "Pro", description: "For teams" }] },
);

/** A model for one client: whatever is left out is that of the model which is copied, but for its price book. */
export const CopyBillingModel = strict(
  {
    ...UpdateBillingModel.properties,
    name: Type.Optional(Name),
    description: Type.Optional(Description),
    for_client_id: Id,
  },
  { title: "CopyBillingModel", examples: [{ for_client_id: 1, price: "15" }] },
);

/** The price fields of a request; those left out stay as they are. */
export type PricingInput = Omit<
  Static<typeof UpdateBillingModel>,
  "id" | "name" | "description" | "plan_code" | "for_client_id" | "entitlements"
>;
