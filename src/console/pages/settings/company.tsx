import { useAnswer, write } from "../../api/cache.ts";
import { company, findSession, may } from "../../app/session.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { CheckField, CheckListField, SelectField, TextField } from "../../ui/fields.tsx";
import { Form, type FormState, within } from "../../ui/form.tsx";
import { Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { say } from "../../ui/toast.tsx";
import { BILLING_MODELS } from "../../ui/sources.ts";
import { getCompany, updateCompany } from "./calls.ts";
import type { Static } from "@sinclair/typebox";
import type { Company } from "../../../tenancy/companies/model.ts";

/** The company: its name, zone, currency, and what its clients do themselves. */
export function CompanyPage() {
  const loaded = useAnswer(getCompany);
  return (
    <Page title="Company" intro="Name, time zone, currency, and what clients may do themselves.">
      <AreaTabs at="/settings" />
      <Await of={loaded}>
        {(record) => (
          <Section title={record.name}>
            {may("company:write") ? <CompanyForm of={record} /> : <CompanyFacts of={record} />}
          </Section>
        )}
      </Await>
    </Page>
  );
}

function CompanyFacts({ of }: { of: Static<typeof Company> }) {
  return (
    <Facts
      of={[
        ["Name", of.name],
        ["Time zone", of.timezone],
        ["Currency", of.currency],
      ]}
    />
  );
}

const ZONES = Intl.supportedValuesOf("timeZone");
const CURRENCIES = Intl.supportedValuesOf("currency");
const choicesOf = (values: readonly string[], current: string) =>
  (values.includes(current) ? values : [current, ...values]).map((value) => ({ value, label: value }));

const companyFields = (of: Static<typeof Company>) => ({
  name: of.name,
  timezone: of.timezone,
  currency: of.currency,
  if_uncertain: of.if_uncertain ?? "deny",
  self_service: of.self_service ?? {},
});

function CompanyForm({ of }: { of: Static<typeof Company> }) {
  return (
    <Form
      schema="UpdateCompany"
      act="Save"
      edited={edited(of, { fields: companyFields, read: () => readAnew(getCompany) })}
      submit={async (values, key, if_match) => {
        await write(updateCompany, values, { key, if_match });
        await findSession();
        say("Saved");
      }}
      effects={({ timezone }) =>
        timezone !== company.value.timezone && (
          <div class="notice warn" role="status">
            <p>
              Days and months begin in the new zone from the next period on. Periods that were billed, and the
              running one, keep the zone that they began in.
            </p>
          </div>
        )
      }
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" />
          <div class="field-row">
            <SelectField
              form={form}
              name="timezone"
              label="Time zone"
              choices={choicesOf(ZONES, of.timezone)}
            />
            <SelectField
              form={form}
              name="currency"
              label="Currency"
              choices={choicesOf(CURRENCIES, of.currency)}
            />
          </div>
          <SelectField
            form={form}
            name="if_uncertain"
            label="Checks of limits, while usage is being counted"
            choices={[
              { value: "deny", label: "Deny" },
              { value: "allow", label: "Allow" },
            ]}
          />
          <SelfServiceFields form={form} />
        </>
      )}
    </Form>
  );
}

function SelfServiceFields({ form }: { form: FormState }) {
  const models = useAnswer(BILLING_MODELS.from, { page: 1, limit: 100 });
  const own = within(form, "self_service");
  return (
    <fieldset>
      <legend>What clients may do with their subscriptions themselves</legend>
      <CheckField form={own} name="upgrade" label="Upgrade credit plans" />
      <CheckField form={own} name="downgrade" label="Downgrade credit plans" />
      <SelectField
        form={own}
        name="cancel"
        label="Cancel"
        none="Not at all"
        choices={[
          { value: "period_end", label: "With the running period" },
          { value: "now", label: "With the running period, or at once" },
        ]}
      />
      <Await of={models} rows={2}>
        {(all) => (
          <CheckListField
            form={own}
            name="plans"
            label="Plans that they may choose"
            choices={all
              .filter(({ purpose }) => purpose !== "cost")
              .map(({ id, name }) => ({ value: id, label: name }))}
            none="There are no billing models yet."
          />
        )}
      </Await>
    </fieldset>
  );
}
