import type { Meter } from "../../../billing/meters/model.ts";
import { DecimalField, SelectField, TextField } from "../../ui/fields.tsx";
import { type FormState, Rows, within } from "../../ui/form.tsx";
import { words } from "../../ui/names.ts";
import { TierRows } from "./tier_rows.tsx";

const TYPES = ["per_unit", "graduated", "volume", "package", "fixed"].map((value) => ({
  value,
  label: words(value),
}));

/** Charges beside the model's own type, each by what a meter counts. */
export function ChargeRows({ form, meters }: { form: FormState; meters: readonly Meter[] }) {
  return (
    <Rows
      form={form}
      name="charges"
      label="Charges by meters"
      add="Add charge"
      blank={{
        type: "per_unit",
        meter_id: meters[0]?.id,
        usage_tiers: [{ up_to: null, unit_price: "", flat_fee: "0" }],
      }}
    >
      {(row) => <ChargeFields form={row} meters={meters} />}
    </Rows>
  );
}

function ChargeFields({ form, meters }: { form: FormState; meters: readonly Meter[] }) {
  const { type, meter_id } = form.values;
  const meter = meters.find(({ id }) => id === meter_id);
  const is_tiered = type === "graduated" || type === "volume";
  return (
    <>
      <TextField form={form} name="name" label="Name" help={null} />
      <TextField form={form} name="code" label="Code" placeholder="input_tokens" />
      <SelectField form={form} name="type" label="Type" choices={TYPES} help={null} />
      {type !== "fixed" && (
        <SelectField
          form={form}
          name="meter_id"
          label="Counts"
          help={meters.length === 0 ? "There are no meters yet." : null}
          none="Choose a meter"
          is_number
          choices={meters.map(({ id, name }) => ({ value: String(id), label: name }))}
        />
      )}
      {is_tiered ? (
        <TierRows form={form} />
      ) : (
        <>
          <DecimalField
            form={form}
            name="price"
            label={type === "fixed" ? "Price a month" : "Price"}
            help={null}
          />
          {type !== "fixed" && (
            <DecimalField form={form} name="per" label="For so many units" help="1 unless given." />
          )}
          {type === "package" && (
            <DecimalField form={form} name="package_size" label="Units in a package" help={null} />
          )}
          {type === "fixed" && <DecimalField form={form} name="quantity" label="Quantity" help={null} />}
        </>
      )}
      {!is_tiered && meter !== undefined && meter.group_keys.length > 0 && (
        <MatchedPrices form={form} keys={meter.group_keys} />
      )}
    </>
  );
}

function MatchedPrices({ form, keys }: { form: FormState; keys: readonly string[] }) {
  const { prices } = form.values;
  return (
    <>
      <Rows form={form} name="prices" label={`Prices by ${keys.join(", ")}`} add="Add price">
        {(row) => (
          <>
            {keys.map((key) => (
              <TextField key={key} form={within(row, "match")} name={key} label={key} help={null} />
            ))}
            <DecimalField form={row} name="price" label="Price" help={null} />
          </>
        )}
      </Rows>
      {Array.isArray(prices) && prices.length > 0 && (
        <SelectField
          form={form}
          name="unmatched"
          label="Anything else"
          help={null}
          choices={[
            { value: "price", label: "at the price of the charge" },
            { value: "free", label: "free" },
          ]}
        />
      )}
    </>
  );
}
