import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { company } from "../../app/session.ts";
import { Button } from "../../ui/button.tsx";
import { DecimalField, NumberField, SelectField, TextAreaField, TextField } from "../../ui/fields.tsx";
import { Form, type FormState, type Values, within } from "../../ui/form.tsx";
import { Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await } from "../../ui/states.tsx";
import { Calculator } from "./calculator.tsx";
import { BILLING_MODELS, METERS } from "../../ui/sources.ts";
import { createBillingModel } from "./calls.ts";
import { ChargeRows } from "./charge_rows.tsx";
import { bodyOf, type Draft, draftOf, EXAMPLES, PRICE_LABELS, TYPE_TEXTS, typeOf } from "./draft.ts";
import { GrantRows } from "./grant_rows.tsx";
import { TierRows } from "./tier_rows.tsx";

/** A new billing model: typed, and rated as one types. */
export function NewBillingModelPage() {
  const { values } = useQuery();
  const from = useAnswer(BILLING_MODELS.one, values.from === undefined ? null : { id: values.from });
  const [example, setExample] = useState<number>();
  return (
    <Page
      title="New billing model"
      above={<a href={`${BASE}/billing-models`}>Billing models</a>}
      intro="What you type is rated at once, by the functions that bill. Nothing is saved before you say so."
    >
      {values.from === undefined ? (
        <>
          <Section title="Begin from an example">
            <div class="actions">
              {EXAMPLES.map(({ title }, i) => (
                <Button key={title} aria-pressed={example === i} onClick={() => setExample(i)}>
                  {title}
                </Button>
              ))}
            </div>
          </Section>
          <Editor
            key={example ?? "none"}
            initial={EXAMPLES[example ?? -1]?.draft ?? { billing_type: "per_unit" }}
          />
        </>
      ) : (
        <Await of={from}>{(model) => <Editor initial={draftOf(model)} />}</Await>
      )}
    </Page>
  );
}

const ONE_TIER = [{ up_to: null, unit_price: "", flat_fee: "0" }];

function Editor({ initial }: { initial: Draft }) {
  const { route } = useLocation();
  const currency = initial.currency ?? company.value.currency;
  return (
    <Form
      schema="CreateBillingModel"
      act="Save billing model"
      initial={{
        currency,
        usage_tiers: ONE_TIER,
        credit_plan: { monthly_credits: 1000, credit_consumption: "per_unit" },
        ...initial,
      }}
      submit={async (values, key) => {
        const { data } = await write(createBillingModel, bodyOf(values, currency), { key });
        route(`${BASE}/billing-models/${data.id}`);
      }}
      effects={(values) => (
        <div class="beside">
          <Section title="Calculator" intro="A month at this price.">
            <DraftCalculator values={values} currency={currency} />
          </Section>
        </div>
      )}
    >
      {(form) => <EditorFields form={form} />}
    </Form>
  );
}

function DraftCalculator({ values, currency }: { values: Values; currency: string }) {
  // What is granted costs nothing, and may be half typed.
  const { entitlements: _, ...priced } = values;
  const charges = Array.isArray(values.charges) ? values.charges : [];
  return <Calculator model={{ draft: bodyOf(priced, currency) }} charges={charges} type={typeOf(values)} />;
}

function EditorFields({ form }: { form: FormState }) {
  const type = typeOf(form.values);
  const unit = typeof form.values.currency === "string" ? form.values.currency : "";
  const has_tiers = type === "graduated" || type === "volume";
  return (
    <>
      <Section title="Price">
        <div class="field-row">
          <TextField form={form} name="name" label="Name" help={null} />
          <SelectField
            form={form}
            name="billing_type"
            label="Type"
            choices={Object.entries(TYPE_TEXTS).map(([value, label]) => ({ value, label }))}
          />
        </div>
        <div class="field-row">
          <DecimalField form={form} name="price" label={PRICE_LABELS[type]} unit={unit} help={null} />
          <TextField form={form} name="currency" label="Currency" />
          {type === "package" && (
            <DecimalField form={form} name="package_size" label="Units in a package" help={null} />
          )}
        </div>
        {has_tiers && <TierRows form={form} />}
        {type === "credit" && <CreditFields form={within(form, "credit_plan")} unit={unit} />}
        {(type === "per_unit" || type === "package") && (
          <div class="field-row">
            <DecimalField form={form} name="free_units" label="Free units a month" help={null} />
            <DecimalField form={form} name="recurring_fee" label="Monthly fee" unit={unit} help={null} />
          </div>
        )}
        {type !== "flat" && type !== "credit" && (
          <div class="field-row">
            <DecimalField
              form={form}
              name="minimum_charge"
              label="At least a month"
              unit={unit}
              help={null}
            />
            <DecimalField form={form} name="maximum_charge" label="At most a month" unit={unit} help={null} />
          </div>
        )}
        <TextAreaField form={form} name="description" label="Description" rows={2} help={null} />
      </Section>
      <MoreSections form={form} unit={unit} />
    </>
  );
}

function CreditFields({ form, unit }: { form: FormState; unit: string }) {
  return (
    <div class="field-row">
      <NumberField form={form} name="monthly_credits" label="Credits a month" help={null} />
      <SelectField
        form={form}
        name="credit_consumption"
        label="A credit is taken"
        help={null}
        choices={[
          { value: "per_unit", label: "by each unit" },
          { value: "per_api_call", label: "by each call" },
        ]}
      />
      <DecimalField
        form={form}
        name="overage_rate"
        label="Price of a credit beyond"
        unit={unit}
        help="Left empty: not billed."
      />
    </div>
  );
}

function MoreSections({ form, unit }: { form: FormState; unit: string }) {
  const meters = useAnswer(METERS.from, { page: 1, limit: 100 });
  const commitment = within(form, "commitment");
  return (
    <details>
      <summary>
        Charges by meters, features, setup fee, trial, fees in advance, commitment, price book
      </summary>
      <Section title="Charges">
        <Await of={meters} rows={1}>
          {(rows) => <ChargeRows form={form} meters={rows} />}
        </Await>
      </Section>
      <Section title="Features">
        <GrantRows form={form} />
      </Section>
      <Section title="Start and fee">
        <div class="field-row">
          <DecimalField form={form} name="setup_fee" label="Setup fee, once" unit={unit} help={null} />
          <NumberField form={form} name="trial_days" label="Trial days" help={null} />
          <SelectField
            form={form}
            name="fee_timing"
            label="The fee is billed"
            help={null}
            none="when the period ends"
            choices={[{ value: "in_advance", label: "when it begins" }]}
          />
          <SelectField
            form={form}
            name="fee_interval"
            label="The fee is for"
            help="Beyond a month only in advance."
            none="a month"
            choices={[
              { value: "quarter", label: "a quarter" },
              { value: "half_year", label: "half a year" },
              { value: "year", label: "a year" },
            ]}
          />
        </div>
      </Section>
      <Section title="Commitment" intro="What usage and charges come to, fees apart.">
        <div class="field-row">
          <DecimalField form={commitment} name="minimum" label="At least" unit={unit} help={null} />
          <DecimalField form={commitment} name="maximum" label="At most" unit={unit} help={null} />
          <SelectField
            form={commitment}
            name="interval"
            label="Of"
            help={null}
            none="each month"
            choices={[{ value: "year", label: "twelve months" }]}
          />
        </div>
      </Section>
      <Section title="Whom it is for">
        <div class="field-row">
          <TextField
            form={form}
            name="plan_code"
            label="Price book"
            help="One code, a model for each currency."
          />
          <SelectField
            form={form}
            name="purpose"
            label="It says"
            help={null}
            none="what subscriptions are charged"
            choices={[{ value: "cost", label: "what usage costs the company" }]}
          />
        </div>
      </Section>
    </details>
  );
}
