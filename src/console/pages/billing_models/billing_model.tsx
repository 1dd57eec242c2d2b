import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Charge, UsageTier } from "../../../billing/billing_models/charge_model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { money, unitPrice } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { ClientLink } from "../../ui/named_link.tsx";
import { Button, LinkButton } from "../../ui/button.tsx";
import { DecimalField, TextAreaField, TextField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { History } from "../../ui/history.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { RecordActs } from "../../ui/record_acts.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { say } from "../../ui/toast.tsx";
import { Calculator } from "./calculator.tsx";
import { BILLING_MODELS, CLIENTS, METERS } from "../../ui/sources.ts";
import { copyBillingModel, deleteBillingModel, updateBillingModel } from "./calls.ts";
import { GrantRows } from "./grant_rows.tsx";
import { priceText } from "./price_text.ts";

/** One billing model: what it says, and a calculator. */
export function BillingModelPage({ params }: PageProps) {
  const model = useAnswer(BILLING_MODELS.one, { id: params.id });
  const record = model.answer?.data;
  return (
    <Page
      title={record?.name ?? `Billing model #${params.id ?? ""}`}
      above={<a href={`${BASE}/billing-models`}>Billing models</a>}
      beside={record && <Badge>{words(record.billing_type)}</Badge>}
      actions={record && may("billing_models:write") && <ModelActs of={record} />}
    >
      <Await of={model} rows={8}>
        {(of) => (
          <>
            <Terms of={of} />
            <Charges of={of} />
            <Grants of={of} />
            <Section
              title="Calculator"
              intro="What this model makes of a month's usage, by the functions that bill."
            >
              <Calculator model={{ id: of.id }} charges={of.charges ?? []} type={of.billing_type} />
            </Section>
            <History of="billing_model" id={of.id} />
          </>
        )}
      </Await>
    </Page>
  );
}

function Terms({ of }: { of: BillingModel }) {
  const { currency, credit_plan, commitment } = of;
  const optional = (name: string, value: string | null | undefined) =>
    value === null || value === undefined || value === "0"
      ? undefined
      : ([name, money(value, currency)] as const);
  return (
    <Section title={priceText(of)} intro={of.description === "" ? undefined : of.description}>
      <Facts
        of={[
          ["Currency", currency],
          of.free_units === "0" ? undefined : ["Free units", number(of.free_units)],
          optional("Monthly fee", of.recurring_fee),
          optional("At least", of.minimum_charge),
          optional("At most", of.maximum_charge),
          optional("Setup fee", of.setup_fee),
          of.trial_days === undefined || of.trial_days === 0
            ? undefined
            : ["Trial", count(of.trial_days, "day")],
          of.fee_timing === "in_advance"
            ? ["Fee", `in advance, for a ${words(of.fee_interval ?? "month")}`]
            : undefined,
          commitment
            ? [
                "Commitment",
                `${commitment.minimum === null ? "" : `at least ${money(commitment.minimum, currency)} `}${commitment.maximum === null ? "" : `at most ${money(commitment.maximum, currency)} `}a ${commitment.interval ?? "month"}`,
              ]
            : undefined,
          credit_plan === null
            ? undefined
            : [
                "Credits",
                `${number(credit_plan.monthly_credits)} a month, ${words(credit_plan.credit_consumption)}${credit_plan.overage_rate === null ? "" : `, beyond them ${unitPrice(credit_plan.overage_rate, currency)} each`}`,
              ],
          of.plan_code
            ? ["Price book", <a href={`${BASE}/billing-models?plan_code=${of.plan_code}`}>{of.plan_code}</a>]
            : undefined,
          of.for_client_id ? ["Only for", <ClientLink id={of.for_client_id} />] : undefined,
        ]}
      />
      {of.usage_tiers.length > 0 && <Tiers of={of.usage_tiers} currency={currency} />}
    </Section>
  );
}

function Tiers({ of, currency }: { of: readonly UsageTier[]; currency: string }) {
  const from = (i: number) => of[i - 1]?.up_to ?? "0";
  return (
    <Table
      label="Tiers"
      rows={of.map((tier, i) => ({ ...tier, from: from(i) }))}
      keyOf={(tier) => tier.from}
      columns={[
        { title: "From", is_figure: true, cell: (tier) => `over ${number(tier.from)}` },
        {
          title: "Up to",
          is_figure: true,
          cell: ({ up_to }) => (up_to === null ? "without end" : number(up_to)),
        },
        { title: "A unit", is_figure: true, cell: ({ unit_price }) => unitPrice(unit_price, currency) },
        {
          title: "Fee of the tier",
          is_figure: true,
          is_minor: true,
          cell: ({ flat_fee }) => money(flat_fee, currency),
        },
      ]}
    />
  );
}

function Charges({ of }: { of: BillingModel }) {
  const { charges = [], currency } = of;
  const meters = useAnswer(METERS.from, charges.length === 0 ? null : { page: 1, limit: 100 });
  if (charges.length === 0) return null;
  const nameOf = (id: number | null) =>
    meters.answer?.data.find((meter) => meter.id === id)?.name ?? (id === null ? "–" : `#${id}`);
  return (
    <Section title="Charges" intro="Beside its own type, each by what a meter counts.">
      <Table
        label="Charges"
        rows={charges}
        keyOf={({ code }) => code}
        columns={[
          {
            title: "Charge",
            cell: ({ name, code }) => (
              <>
                {name} <div class="soft">{code}</div>
              </>
            ),
          },
          { title: "Counts", cell: ({ meter_id }) => nameOf(meter_id) },
          { title: "Type", is_minor: true, cell: ({ type }) => words(type) },
          { title: "Price", cell: (charge) => <ChargePrices of={charge} currency={currency} /> },
        ]}
      />
    </Section>
  );
}

function ChargePrices({ of, currency }: { of: Charge; currency: string }) {
  const { price, per, prices, unmatched, usage_tiers, quantity } = of;
  const each = (amount: string) =>
    `${unitPrice(amount, currency)}${per === "1" ? "" : ` for ${number(per)}`}`;
  return (
    <>
      {usage_tiers.length > 0 ? count(usage_tiers.length, "tier") : each(price)}
      {quantity !== null && ` × ${number(quantity)}`}
      {prices.map((matched) => (
        <div key={JSON.stringify(matched.match)} class="soft">
          {Object.entries(matched.match)
            .map(([key, value]) => `${key} ${value}`)
            .join(", ")}
          : {matched.usage_tiers.length > 0 ? count(matched.usage_tiers.length, "tier") : each(matched.price)}
        </div>
      ))}
      {prices.length > 0 && unmatched === "free" && <div class="soft">anything else: free</div>}
    </>
  );
}

function Grants({ of }: { of: BillingModel }) {
  const { entitlements = [] } = of;
  if (entitlements.length === 0) return null;
  return (
    <Section title="What it grants">
      <ul class="rows">
        {entitlements.map(({ feature, enabled, limit, window, per, hard, value }) => (
          <li key={`${feature} ${window ?? ""} ${per ?? ""}`}>
            <strong>{feature}</strong>:{" "}
            {value ??
              (limit === null
                ? enabled
                  ? "on"
                  : "off"
                : `${number(limit)} a ${window ?? ""}${per === null ? "" : ` for each ${per}`}${hard ? "" : " (soft)"}`)}
          </li>
        ))}
      </ul>
    </Section>
  );
}

function ModelActs({ of }: { of: BillingModel }) {
  const [is_copying, setCopying] = useState(false);
  return (
    <RecordActs
      of={of}
      noun="billing model"
      edit={{
        schema: "UpdateBillingModel",
        to: updateBillingModel,
        from: BILLING_MODELS.one,
        values: ({ name, description, entitlements = [] }) => ({ name, description, entitlements }),
        blank: { description: "" },
        note: "Prices of a model that subscriptions use do not change: duplicate it, and move subscriptions to the new one.",
        fields: (form) => (
          <>
            <TextField form={form} name="name" label="Name" />
            <TextAreaField form={form} name="description" label="Description" rows={2} />
            <GrantRows form={form} />
          </>
        ),
      }}
      remove={{
        to: deleteBillingModel,
        list: `${BASE}/billing-models`,
        effects: "No new subscription can take it. One that active subscriptions use cannot be deleted.",
      }}
    >
      <LinkButton href={`${BASE}/billing-models/new?from=${of.id}`} icon="copy">
        Duplicate
      </LinkButton>
      <Button onClick={() => setCopying(true)}>For one client</Button>
      {is_copying && <CopyFor of={of} onClose={() => setCopying(false)} />}
    </RecordActs>
  );
}

function CopyFor({ of, onClose }: { of: BillingModel; onClose: () => void }) {
  const { route } = useLocation();
  return (
    <FormDialog
      title={`${isolated(of.name)} for one client`}
      onClose={onClose}
      schema="CopyBillingModel"
      act="Make it"
      initial={{ name: of.name }}
      submit={async (values, key) => {
        const { data } = await write(copyBillingModel, { ...values, id: of.id }, { key });
        say("Made. Other clients cannot take it.");
        route(`${BASE}/billing-models/${data.id}`);
      }}
    >
      {(form) => (
        <>
          <PickField form={form} name="for_client_id" label="Client" source={CLIENTS} />
          <TextField form={form} name="name" label="Name" />
          <DecimalField form={form} name="price" label="Price" help="Left empty: as it is." />
        </>
      )}
    </FormDialog>
  );
}
