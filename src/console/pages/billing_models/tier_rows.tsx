import { number } from "../../text/number.ts";
import { DecimalField } from "../../ui/fields.tsx";
import { type FormState, Rows } from "../../ui/form.tsx";

/**
 * Tiers: only where each ends is typed, so that there are no gaps; the last one has no end, and says so when it is sent
 * (`withOpenEnd`).
 */
export function TierRows({ form }: { form: FormState }) {
  const tiers = Array.isArray(form.values.usage_tiers) ? form.values.usage_tiers : [];
  const endOf = (i: number): string => String(tiers[i]?.up_to ?? "");
  return (
    <Rows
      form={form}
      name="usage_tiers"
      label="Tiers"
      add="Add tier"
      at_least={1}
      blank={{ up_to: "", unit_price: "", flat_fee: "0" }}
    >
      {(row, i) => (
        <>
          <p class="soft">over {i === 0 ? "0" : endOf(i - 1) === "" ? "…" : number(endOf(i - 1))}</p>
          {i === tiers.length - 1 ? (
            <p>and more, without end</p>
          ) : (
            <DecimalField form={row} name="up_to" label="up to" help={null} />
          )}
          <DecimalField form={row} name="unit_price" label="a unit" help={null} />
          <DecimalField form={row} name="flat_fee" label="fee of the tier" help={null} />
        </>
      )}
    </Rows>
  );
}
