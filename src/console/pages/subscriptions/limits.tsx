import { useState } from "preact/hooks";
import type { EntitlementUse } from "../../../entitlements/grants/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { number } from "../../text/number.ts";
import { Gauge } from "../../ui/bars.tsx";
import { Button } from "../../ui/button.tsx";
import { CheckField, DecimalField } from "../../ui/fields.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { Badge, Facts, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import { getSpendLimit, listEntitlements, removeSpendLimit, setSpendLimit } from "./calls.ts";

/** What a subscription may use, and how much of it is used; and the most that it may come to. */
export function Limits({ id }: { id: number }) {
  const entitlements = useAnswer(listEntitlements, { id });
  return (
    <Section title="Limits">
      <Await of={entitlements} rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">Its plan grants no features.</p>
          ) : (
            <ul class="rows">
              {rows.map((row) => (
                <li key={`${row.feature} ${row.window ?? ""} ${row.per ?? ""}`}>
                  <Entitlement of={row} />
                </li>
              ))}
            </ul>
          )
        }
      </Await>
      <Spending id={id} />
    </Section>
  );
}

function Entitlement({ of }: { of: EntitlementUse }) {
  const { feature, kind, enabled, limit, window, per, hard, used, value, certain, resets_at } = of;
  if (kind === "switch")
    return (
      <>
        {feature}: {enabled ? "on" : "off"}
      </>
    );
  if (kind === "value")
    return (
      <>
        {feature}: {value ?? "–"}
      </>
    );
  return (
    <>
      <strong>{feature}</strong> {window !== null && `a ${window}`} {per !== null && `for each ${per}`}{" "}
      {!hard && <Badge>soft</Badge>} {certain === false && <Badge tone="warn">being counted</Badge>}
      {limit === null ? (
        <div class="soft">without a bound{used !== undefined && `, ${number(used)} used`}</div>
      ) : (
        used !== undefined && (
          <>
            <Gauge
              used={Number(used)}
              of={Number(limit)}
              label={`${number(used)} of ${number(limit)} ${feature} used`}
            />
            <div class="soft">
              {number(used)} of {number(limit)}
              {resets_at !== null && resets_at !== undefined && (
                <>
                  , anew from <Time at={resets_at} />
                </>
              )}
            </div>
          </>
        )
      )}
    </>
  );
}

function Spending({ id }: { id: number }) {
  const limit = useAnswer(getSpendLimit, { id });
  const [is_open, setOpen] = useState(false);
  const close = () => setOpen(false);
  return (
    <Await of={limit} rows={1}>
      {({ company, client, spent, currency }) => (
        <>
          <h3>Spend limit</h3>
          <Facts
            of={[
              [
                "Yours",
                company === null
                  ? "none"
                  : `${money(company.amount, currency)}${company.hard ? "" : ", soft"}`,
              ],
              [
                "The client's own",
                client === null ? "none" : `${money(client.amount, currency)}${client.hard ? "" : ", soft"}`,
              ],
              ["Running charges", spent === null ? "not known yet" : money(spent, currency)],
            ]}
          />
          {may("spend_limits:write") && (
            <div class="actions">
              <Button onClick={() => setOpen(true)}>Set spend limit</Button>
              {company !== null && (
                <Button kind="quiet" onClick={() => void write(removeSpendLimit, { id })}>
                  Remove
                </Button>
              )}
            </div>
          )}
          {is_open && (
            <FormDialog
              title="Spend limit"
              onClose={close}
              schema="SetSpendLimit"
              act="Set limit"
              initial={{ amount: company?.amount ?? "", hard: company?.hard ?? true }}
              submit={(values, key) => write(setSpendLimit, { ...values, id }, { key })}
            >
              {(form) => (
                <>
                  <DecimalField form={form} name="amount" label={`Most in a billing period, ${currency}`} />
                  <CheckField
                    form={form}
                    name="hard"
                    label="Refuse checks beyond it"
                    help="Usage itself is never refused: what happened is recorded."
                  />
                </>
              )}
            </FormDialog>
          )}
        </>
      )}
    </Await>
  );
}
