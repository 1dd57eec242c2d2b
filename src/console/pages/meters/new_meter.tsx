import { useLocation } from "preact-iso";
import { write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import {
  CheckField,
  DecimalField,
  SelectField,
  TagsField,
  TextAreaField,
  TextField,
} from "../../ui/fields.tsx";
import { cleaned, Form, type FormState, Rows, type Values } from "../../ui/form.tsx";
import { words } from "../../ui/names.ts";
import { Page, Section } from "../../ui/page.tsx";
import { createMeter } from "./calls.ts";
import { Trial } from "./trial.tsx";

const AGGREGATIONS: Record<string, string> = {
  sum: "the sum of a value",
  count: "how many events there are",
  unique: "how many different values there are",
  max: "the largest value",
  min: "the smallest value",
  average: "the average value",
  latest: "the last value",
  percentile: "a percentile of the values",
  weighted_sum: "a level over time, such as seats",
};
const OPS = ["in", "not_in", "exists", "missing"].map((value) => ({ value, label: words(value) }));

/** A new meter, which can be tried on stored events before it is saved. */
export function NewMeterPage() {
  const { route } = useLocation();
  return (
    <Page
      title="New meter"
      above={<a href={`${BASE}/meters`}>Meters</a>}
      intro="Try it on stored events before you save it: afterwards, once a billing model uses it, it does not change."
    >
      <Form
        schema="CreateMeter"
        act="Save meter"
        initial={{ aggregation: "sum", value: [{ key: "usage" }] }}
        submit={async (values, key) => {
          const { data } = await write(createMeter, { ...values, ...termsOf(values) }, { key });
          route(`${BASE}/meters/${data.id}`);
        }}
        effects={(values) => <Trial meter={() => termsOf(values)} />}
      >
        {(form) => <MeterFields form={form} />}
      </Form>
    </Page>
  );
}

/** What it counts by, as it is sent: `count` reads no value. */
function termsOf(values: Values): Values {
  const { aggregation, value, filters, group_keys, percentile, carry_over } = values;
  const terms = {
    aggregation,
    value: aggregation === "count" ? undefined : value,
    filters,
    group_keys,
    percentile: aggregation === "percentile" ? percentile : undefined,
    carry_over: aggregation === "latest" ? carry_over : undefined,
  };
  const given = Object.entries(terms).filter(([, term]) => term !== undefined && term !== "");
  return Object.fromEntries(given.map(([name, term]) => [name, cleaned(term)]));
}

function MeterFields({ form }: { form: FormState }) {
  const { aggregation } = form.values;
  return (
    <Section title="What it counts">
      <div class="field-row">
        <TextField form={form} name="name" label="Name" help={null} />
        <TextField form={form} name="code" label="Code" placeholder="input_tokens" />
        <SelectField
          form={form}
          name="aggregation"
          label="Counts"
          help={null}
          choices={Object.entries(AGGREGATIONS).map(([value, label]) => ({ value, label }))}
        />
      </div>
      <TextAreaField form={form} name="description" label="Description" rows={2} help={null} />
      {aggregation !== "count" && (
        <Rows form={form} name="value" label="The value: the sum of" add="Add term" at_least={1} at_most={5}>
          {(row) => (
            <>
              <TextField
                form={row}
                name="key"
                label="Number"
                help="usage, or metadata: and a key"
                placeholder="metadata:input_tokens"
              />
              <DecimalField form={row} name="times" label="times" help="1 unless given" />
            </>
          )}
        </Rows>
      )}
      <Rows
        form={form}
        name="filters"
        label="Only events where"
        add="Add filter"
        at_most={10}
        blank={{ op: "in" }}
      >
        {(row) => (
          <>
            <TextField form={row} name="key" label="Key of the metadata" help={null} placeholder="kind" />
            <SelectField form={row} name="op" label="is" help={null} choices={OPS} />
            {(row.values.op === "in" || row.values.op === "not_in") && (
              <TagsField form={row} name="values" label="Values" help="Enter adds one" />
            )}
          </>
        )}
      </Rows>
      <TagsField
        form={form}
        name="group_keys"
        label="Prices and limits may differ by"
        help="Keys of the metadata, at most three. Enter adds one."
        placeholder="model"
      />
      {aggregation === "percentile" && (
        <DecimalField form={form} name="percentile" label="Percentile" help="Such as 95" />
      )}
      {aggregation === "latest" && (
        <CheckField form={form} name="carry_over" label="Without a value, take the last one before" />
      )}
    </Section>
  );
}
