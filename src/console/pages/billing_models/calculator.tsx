import { useState } from "preact/hooks";
import type { BillingType } from "../../../billing/billing_models/billing_types.ts";
import { useAsked } from "../../api/asked.ts";
import { useAnswer } from "../../api/cache.ts";
import { type Input } from "../../api/call.ts";
import { money } from "../../text/money.ts";
import { number, shortNumber } from "../../text/number.ts";
import { BillLines } from "../../ui/bill_lines.tsx";
import { Curve } from "../../ui/curve.tsx";
import { Pick } from "../../ui/picker.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { METERS, SUBSCRIPTIONS } from "../../ui/sources.ts";
import { quoteBillingModel } from "./calls.ts";

/** A charge as far as quantities are put in for it; one that is typed may have neither. */
type CountedCharge = { meter_id?: number | null; prices?: readonly { match?: Record<string, string> }[] };

interface CalculatorProps {
  /** A saved model, or one that is being typed. */
  model: { id: number } | { draft: Input };
  charges: readonly CountedCharge[];
  type: BillingType;
}

/** What is put in for one meter, and for one of the prices by match. */
interface Counted {
  key: string;
  label: string;
  meter_id: number;
  match: Record<string, string> | null;
}

/** Units in; lines, total and a curve out, rated by the service. */
export function Calculator({ model, charges, type }: CalculatorProps) {
  const meters = useAnswer(
    METERS.from,
    charges.some(({ meter_id }) => typeof meter_id === "number") ? { page: 1, limit: 100 } : null,
  );
  const [units, setUnits] = useState("1000");
  const [quantities, setQuantities] = useState<Record<string, string>>({});
  const [real, setReal] = useState<{ subscription_id?: number; period: string }>({ period: "" });
  const counted = countedOf(
    charges,
    (id) => meters.answer?.data.find((meter) => meter.id === id)?.name ?? `meter ${id}`,
  );
  const of_usage = real.subscription_id !== undefined && real.period !== "";
  const input: Input = {
    ...("id" in model ? { billing_model_id: model.id } : { billing_model: model.draft }),
    ...(of_usage
      ? { subscription_id: real.subscription_id, period: real.period }
      : {
          ...(units !== "" && { units }),
          ...(counted.length > 0 && {
            quantities: counted
              .filter(({ key }) => (quantities[key] ?? "") !== "")
              .map(({ key, meter_id, match }) => ({
                meter_id,
                quantity: quantities[key],
                ...(match && { match }),
              })),
          }),
        }),
    curve: { points: 50 },
  };
  return (
    <>
      <div class="field-row">
        {type !== "flat" && (
          <Amount label={type === "credit" ? "Units or calls" : "Units"} value={units} onChange={setUnits} />
        )}
        {counted.map(({ key, label }) => (
          <Amount
            key={key}
            label={label}
            value={quantities[key] ?? ""}
            onChange={(value) => setQuantities({ ...quantities, [key]: value })}
          />
        ))}
      </div>
      <details>
        <summary>Or what a subscription really used in a month</summary>
        <div class="field-row">
          <Pick
            label="Subscription"
            source={SUBSCRIPTIONS}
            value={real.subscription_id}
            onPick={(id) =>
              setReal({ period: real.period, ...(id !== undefined && { subscription_id: id }) })
            }
          />
          <div class="field">
            <label for="quote-month">Month</label>
            <input
              id="quote-month"
              type="month"
              value={real.period}
              onChange={(event) => setReal({ ...real, period: event.currentTarget.value })}
            />
          </div>
        </div>
      </details>
      <Rating input={input} />
    </>
  );
}

function Amount({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <div class="field">
      <label>
        {label}
        <input
          class="figures"
          inputMode="decimal"
          value={value}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </label>
    </div>
  );
}

/** One for each meter, and for each of the prices that match some of its events. */
function countedOf(charges: readonly CountedCharge[], nameOf: (meter_id: number) => string): Counted[] {
  const found = new Map<string, Counted>();
  for (const { meter_id, prices = [] } of charges) {
    if (typeof meter_id !== "number") continue;
    for (const match of [...prices.map((price) => price.match ?? {}), null]) {
      const key = `${meter_id} ${JSON.stringify(match)}`;
      const rest =
        match === null ? (prices.length > 0 ? ", others" : "") : `, ${Object.values(match).join(", ")}`;
      found.set(key, { key, meter_id, match, label: `${nameOf(meter_id)}${rest}` });
    }
  }
  return [...found.values()];
}

function Rating({ input }: { input: Input }) {
  const { data: rated, failure, retry } = useAsked(quoteBillingModel, input);
  if (failure) return <FailureNotice failure={failure} onRetry={retry} />;
  if (rated === undefined) return <Skeleton rows={4} />;
  const { lines, total, currency, curve } = rated;
  const last = curve.points.at(-1);
  return (
    <>
      <BillLines lines={lines} currency={currency} total={total} label="Quote" />
      {curve.points.length > 1 && last && (
        <Curve
          points={curve.points.map((point) => ({ x: Number(point.units), y: Number(point.total) }))}
          sentence={`From ${money(curve.points[0]?.total ?? "0", currency)} for ${number(curve.points[0]?.units ?? "0")} to ${money(last.total, currency)} for ${number(last.units)} units a month.`}
          nameX={shortNumber}
          nameY={shortNumber}
        />
      )}
    </>
  );
}
