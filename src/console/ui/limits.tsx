import { useState } from "preact/hooks";
import type { Nothing } from "../../core/schema.ts";
import type { EntitlementUse } from "../../entitlements/grants/model.ts";
import type { SpendLimit } from "../../entitlements/spend_limits/model.ts";
import { useAnswer, write } from "../api/cache.ts";
import { get, list, put, remove } from "../api/call.ts";
import { may } from "../app/session.ts";
import { money } from "../text/money.ts";
import { number } from "../text/number.ts";
import { Gauge } from "./bars.tsx";
import { Button } from "./button.tsx";
import { edited, readAnew } from "./edited.ts";
import { CheckField, DecimalField } from "./fields.tsx";
import { FormDialog } from "./form.tsx";
import { Badge, Facts, Section } from "./page.tsx";
import { Await } from "./states.tsx";
import { Time } from "./timeline.tsx";
import { attempt } from "./toast.tsx";
import { callsByRole, isClient } from "./whose.ts";

const calls = callsByRole({
  entitlements: list<typeof EntitlementUse>("/subscriptions/:id/entitlements"),
  limit: get<typeof SpendLimit>("/subscriptions/:id/spend-limit"),
  setLimit: put<typeof SpendLimit>("/subscriptions/:id/spend-limit"),
  removeLimit: remove<typeof Nothing>("/subscriptions/:id/spend-limit"),
});

/** What a subscription may use, and how much of it is used; and the most that it may come to. */
export function Limits({ id }: { id: number }) {
  const entitlements = useAnswer(calls().entitlements, { id });
  return (
    <Section title="Limits">
      <Await of={entitlements} rows={2}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">The plan grants no features.</p>
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
  if (kind !== "limit")
    return (
      <>
        {feature}: {kind === "value" ? (value ?? "–") : enabled ? "on" : "off"}
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

/** The limit that one may set. */
const ownOf = ({ company, client }: Pick<SpendLimit, "company" | "client">) =>
  isClient() ? client : company;
const limitFields = (own: SpendLimit["company"]) => ({ amount: own?.amount ?? "", hard: own?.hard ?? true });

function Spending({ id }: { id: number }) {
  const limit = useAnswer(calls().limit, { id });
  const [is_open, setOpen] = useState(false);
  return (
    <Await of={limit} rows={1}>
      {({ company, client, spent, currency }) => {
        const own = ownOf({ company, client });
        const textOf = (one: typeof own) =>
          one === null ? "none" : `${money(one.amount, currency)}${one.hard ? "" : ", soft"}`;
        return (
          <>
            <h3>Spend limit</h3>
            <Facts
              of={[
                ["Yours", textOf(own)],
                isClient() ? ["The company's", textOf(company)] : ["The client's own", textOf(client)],
                ["Running charges", spent === null ? "not known yet" : money(spent, currency)],
              ]}
            />
            {may("spend_limits:write") && (
              <div class="actions">
                <Button onClick={() => setOpen(true)}>Set spend limit</Button>
                {own !== null && (
                  <Button kind="quiet" onClick={() => attempt(write(calls().removeLimit, { id }))}>
                    Remove
                  </Button>
                )}
              </div>
            )}
            {is_open && (
              <FormDialog
                title="Spend limit"
                onClose={() => setOpen(false)}
                schema="SetSpendLimit"
                act="Set limit"
                edited={edited(own, {
                  fields: limitFields,
                  read: async () => ({ data: ownOf((await readAnew(calls().limit, { id })).data) }),
                  is_replaced: true,
                })}
                submit={(values, key) => write(calls().setLimit, { ...values, id }, { key })}
              >
                {(form) => (
                  <>
                    <DecimalField
                      form={form}
                      name="amount"
                      label="Most in a billing period"
                      unit={currency}
                      help={null}
                    />
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
        );
      }}
    </Await>
  );
}
