import { useEffect, useState } from "preact/hooks";
import type { Static } from "@sinclair/typebox";
import type { ChangePreview } from "../../billing/previews/model.ts";
import { write } from "../api/cache.ts";
import { type Endpoint, type Failure, failureFrom, type Input, send } from "../api/call.ts";
import { money } from "../text/money.ts";
import { count, number } from "../text/number.ts";
import { dateTime, period } from "../text/time.ts";
import { BillLines, Money } from "./bill_lines.tsx";
import { Button } from "./button.tsx";
import { useSubmit } from "./dialog.tsx";
import { RECORD_KIND_NAMES } from "./names.ts";
import { Facts } from "./page.tsx";
import { FailureNotice, Skeleton } from "./states.tsx";
import { say } from "./toast.tsx";

type Preview = Static<typeof ChangePreview>;

/** An act on a subscription: how it is previewed, and how it is done. */
export interface Act {
  preview: Endpoint<Preview>;
  run: Endpoint<unknown>;
  input: Input;
}

/** One of a few ways. */
export function Choices<T extends string>(props: {
  label: string;
  value: T;
  choices: readonly (readonly [T, string])[];
  onChoose: (value: T) => void;
}) {
  const { label, value, choices, onChoose } = props;
  return (
    <fieldset>
      <legend>{label}</legend>
      {choices.map(([choice, text]) => (
        <div key={choice} class="check">
          <label>
            <input
              type="radio"
              name={label}
              value={choice}
              checked={choice === value}
              onChange={() => onChoose(choice)}
            />
            {text}
          </label>
        </div>
      ))}
    </fieldset>
  );
}

/** When a cancelled subscription ends. */
export type EndOf = "period_end" | "now";

export const EndChoice = ({ value, onChoose }: { value: EndOf; onChoose: (value: EndOf) => void }) => (
  <Choices
    label="When"
    value={value}
    choices={[
      ["period_end", "With the running period"],
      ["now", "Now"],
    ]}
    onChoose={onChoose}
  />
);

/** What an act would do, as the service previews it, and the button that does it. */
export function Effects({ act, onClose }: { act: Act; onClose: () => void }) {
  const [preview, setPreview] = useState<Preview>();
  const [failure, setFailure] = useState<Failure>();
  const {
    submit,
    is_busy,
    failure: refusal,
  } = useSubmit(async (key) => {
    await write(act.run, act.input, { key });
    say("Done");
  }, onClose);
  const look = async (signal?: AbortSignal) => {
    setFailure(undefined);
    try {
      setPreview((await send(act.preview, act.input, signal ? { signal } : {})).data);
    } catch (error) {
      if (!signal?.aborted) setFailure(failureFrom(error));
    }
  };
  useEffect(() => {
    const looking = new AbortController();
    void look(looking.signal);
    return () => looking.abort();
  }, []);
  if (failure) return <FailureNotice failure={failure} onRetry={() => void look()} />;
  if (preview === undefined) return <Skeleton rows={6} />;
  return (
    <>
      <PreviewParts of={preview} />
      {refusal && <FailureNotice failure={refusal} />}
      <div class="actions end">
        <Button onClick={onClose}>Keep as it is</Button>
        <Button
          kind={preview.kind === "cancel" ? "danger" : "primary"}
          is_busy={is_busy}
          onClick={() => void submit()}
        >
          {actText(preview)}
        </Button>
      </div>
    </>
  );
}

/** The act, in the words of the button. */
function actText({ kind, at_once, bills, currency }: Preview): string {
  const when = at_once ? "now" : "as scheduled";
  if (kind === "cancel") {
    const last = bills.at(-1)?.after.total;
    return `Cancel ${when}${last === undefined ? "" : `, last bill ${money(last, currency)}`}`;
  }
  return `${kind === "change" ? "Change" : kind === "upgrade" ? "Upgrade" : "Downgrade"} ${when}`;
}

function PreviewParts({ of }: { of: Preview }) {
  const { currency, days, bills, records, records_total, credits_added, cancelled_change_ids } = of;
  return (
    <>
      <Facts
        of={[
          ["Takes effect", `${dateTime(of.effective_at)}${of.at_once ? ", at once" : ""}`],
          [
            "Days",
            `${number(days.before)} before and ${number(days.after)} from then on, of ${count(days.of, "day")}`,
          ],
          credits_added === null ? undefined : ["Credits added this month", number(credits_added)],
          cancelled_change_ids.length === 0
            ? undefined
            : ["Scheduled changes it cancels", cancelled_change_ids.map((id) => `#${id}`).join(", ")],
        ]}
      />
      {bills.map(({ from, to, before, after, difference }) => (
        <section key={from} aria-label={period(from, to)}>
          <h3>{period(from, to)}</h3>
          <p>
            {money(before.total, currency)} before, {money(after.total, currency)} after:{" "}
            <strong>
              <Money of={difference} currency={currency} />
            </strong>
          </p>
          <details>
            <summary>Lines after</summary>
            <BillLines lines={after.lines} currency={currency} total={after.total} label="Lines after" />
          </details>
          <details>
            <summary>Lines before</summary>
            <BillLines lines={before.lines} currency={currency} total={before.total} label="Lines before" />
          </details>
        </section>
      ))}
      {records.length > 0 && (
        <section aria-label="Written at once">
          <h3>Written at once: {money(records_total, currency)}</h3>
          {records.map((record) => (
            <details key={`${record.billingStartAt} ${record.kind} ${record.sequence}`}>
              <summary>
                {RECORD_KIND_NAMES[record.kind]} for {period(record.billingStartAt, record.billingEndAt)}:{" "}
                {money(record.totalCharges, currency)}
              </summary>
              <BillLines lines={record.lines} currency={currency} total={record.totalCharges} />
            </details>
          ))}
        </section>
      )}
    </>
  );
}
