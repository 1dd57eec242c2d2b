import { useEffect } from "preact/hooks";
import type { Feature } from "../../../billing/features/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { list } from "../../api/call.ts";
import { CheckField, DecimalField, SelectField, TextField } from "../../ui/fields.tsx";
import { type FormState, Rows, type Values } from "../../ui/form.tsx";
import { Await } from "../../ui/states.tsx";

const listFeatures = list<typeof Feature>("/features");

const WINDOWS = [
  { value: "hour", label: "an hour" },
  { value: "day", label: "a day" },
  { value: "week", label: "a week" },
  { value: "month", label: "a billing period" },
  { value: "life", label: "ever" },
];

/** What a plan grants of the company's features: a limit, a switch or a value each. */
export function GrantRows({ form }: { form: FormState }) {
  const features = useAnswer(listFeatures, { page: 1, limit: 100 });
  return (
    <Await of={features} rows={1}>
      {(rows) =>
        rows.length === 0 ? (
          <p class="soft">There are no features yet.</p>
        ) : (
          <Rows
            form={form}
            name="entitlements"
            label="What it grants"
            add="Add feature"
            blank={{ hard: true }}
          >
            {(row) => <GrantFields form={row} features={rows} />}
          </Rows>
        )
      }
    </Await>
  );
}

/** What only entitlements of one kind have. */
const OF_KIND = { limit: ["limit", "window", "per"], value: ["value"], switch: [] } as const;

function GrantFields({ form, features }: { form: FormState; features: readonly Feature[] }) {
  const kind = features.find(({ code }) => code === form.values.feature)?.kind;
  useEffect(() => {
    // What was typed for a feature of another kind is refused.
    if (kind !== undefined) form.set(emptied(kind));
  }, [kind]);
  return (
    <>
      <SelectField
        form={form}
        name="feature"
        label="Feature"
        help={null}
        none="Choose a feature"
        choices={features.map(({ code, name }) => ({ value: code, label: name }))}
      />
      {kind === "limit" && (
        <>
          <DecimalField form={form} name="limit" label="At most" help="Left empty: without a bound." />
          <SelectField form={form} name="window" label="In" choices={WINDOWS} none="Choose" help={null} />
          <TextField form={form} name="per" label="For each" help="A group key of its meter, if any." />
          <CheckField form={form} name="hard" label="Refuse checks beyond it" help={null} />
        </>
      )}
      {kind === "value" && <TextField form={form} name="value" label="Value" help={null} />}
    </>
  );
}

function emptied(kind: Feature["kind"]): Values {
  const kept: readonly string[] = OF_KIND[kind];
  const others = Object.values(OF_KIND)
    .flat()
    .filter((name) => !kept.includes(name));
  return Object.fromEntries(others.map((name) => [name, ""]));
}
