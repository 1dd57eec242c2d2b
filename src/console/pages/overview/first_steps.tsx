import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { SubscriptionDetail } from "../../../billing/subscriptions/detail.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { company, may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, number } from "../../text/number.ts";
import { ago } from "../../text/time.ts";
import { BillLines } from "../../ui/bill_lines.tsx";
import { Button, CopyButton, LinkButton } from "../../ui/button.tsx";
import { useSubmit } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { Badge, Page, Section } from "../../ui/page.tsx";
import { FailureNotice, Skeleton } from "../../ui/states.tsx";
import { BILLING_MODELS, CLIENTS, PRODUCTS, SUBSCRIPTIONS } from "../../ui/sources.ts";
import {
  createApiKey,
  createBillingModel,
  createClient,
  createProduct,
  createSubscription,
  previewBill,
} from "./calls.ts";

const FIRST = { page: 1, limit: 1 };

/** From nothing to a first bill. How far one is, is read from the data: one may leave and come back. */
export function FirstStepsPage() {
  const clients = useAnswer(CLIENTS.from, FIRST);
  const products = useAnswer(PRODUCTS.from, FIRST);
  const models = useAnswer(BILLING_MODELS.from, FIRST);
  const subscriptions = useAnswer(SUBSCRIPTIONS.from, FIRST);
  const asked = [clients, products, models, subscriptions];
  const failed = asked.find(({ failure }) => failure);
  const [client] = clients.answer?.data ?? [];
  const [product] = products.answer?.data ?? [];
  const [model] = models.answer?.data ?? [];
  const [subscription] = subscriptions.answer?.data ?? [];
  const steps: readonly [title: string, done: string | undefined, content: ComponentChildren][] = [
    [
      "A client",
      client?.name,
      <NameStep key="c" what="Client" example="Acme" act="Add client" create={createClient} />,
    ],
    [
      "A product",
      product?.name,
      <NameStep key="p" what="Product" example="Completions" act="Add product" create={createProduct} />,
    ],
    ["A price", model?.name, <ModelStep key="m" />],
    [
      "A subscription",
      subscription?.name,
      client && product && model && (
        <SubscriptionStep key="s" ids={[client.id, product.id, model.id]} name={client.name} />
      ),
    ],
  ];
  const current = steps.findIndex(([, done]) => done === undefined);
  return (
    <Page title="First steps" intro="Five of them, to a first bill. You can leave and come back.">
      {failed?.failure ? (
        <FailureNotice failure={failed.failure} onRetry={() => asked.forEach(({ reload }) => reload())} />
      ) : asked.some(({ answer }) => answer === undefined) ? (
        <Skeleton rows={6} />
      ) : (
        <ol class="steps">
          {steps.map(([title, done, content], i) => (
            <Step key={title} title={title} done={done} is_current={i === current}>
              {content}
            </Step>
          ))}
          <Step title="An event" done={undefined} is_current={current === -1}>
            {subscription && <EventStep of={subscription} />}
          </Step>
        </ol>
      )}
    </Page>
  );
}

/** What takes the focus of a step. */
const FIRST_STOP = ":is(input, select, button, a):not(:disabled)";

function Step(props: {
  title: string;
  done: string | undefined;
  is_current: boolean;
  children: ComponentChildren;
}) {
  const { title, done, is_current, children } = props;
  const element = useRef<HTMLLIElement>(null);
  const was_current = useRef(is_current);
  useEffect(() => {
    // What had the focus went with the step before.
    if (is_current && !was_current.current) element.current?.querySelector<HTMLElement>(FIRST_STOP)?.focus();
    was_current.current = is_current;
  }, [is_current]);
  return (
    <li ref={element} {...(is_current && { "aria-current": "step" as const })}>
      <h2>
        {title} {done !== undefined && <Badge tone="good">{done}</Badge>}
      </h2>
      {is_current && children}
    </li>
  );
}

function NameStep(props: { what: string; example: string; act: string; create: typeof createClient }) {
  const { what, example, act, create } = props;
  return (
    <Form schema={`Create${what}`} act={act} submit={(values, key) => write(create, values, { key })}>
      {(form) => (
        <TextField
          form={form}
          name="name"
          label={`Name of the ${what.toLowerCase()}`}
          placeholder={example}
        />
      )}
    </Form>
  );
}

/** Three to choose from, in the company's currency; any other is made on its own page. */
const MODELS = [
  { title: "0.002 a unit", body: { billing_type_id: 2, name: "Pay as you go", price: "0.002" } },
  { title: "29.00 a month", body: { billing_type_id: 1, name: "Flat", price: "29" } },
  {
    title: "20.00 a month with 1,000 credits",
    body: {
      billing_type_id: 6,
      name: "Pro",
      price: "20",
      credit_plan: { monthly_credits: 1000, credit_consumption: "per_unit", overage_rate: "0.03" },
    },
  },
] as const;

function ModelStep() {
  const [chosen, setChosen] = useState(0);
  const { submit, is_busy, failure } = useSubmit((key) =>
    write<BillingModel>(
      createBillingModel,
      { ...MODELS[chosen]?.body, currency: company.value.currency, description: "" },
      { key },
    ),
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <fieldset>
        <legend>What a month costs, in {company.value.currency}</legend>
        {MODELS.map(({ title }, i) => (
          <div key={title} class="check">
            <label>
              <input type="radio" name="model" checked={chosen === i} onChange={() => setChosen(i)} />
              {title}
            </label>
          </div>
        ))}
      </fieldset>
      {failure && <FailureNotice failure={failure} />}
      <div class="actions end">
        <LinkButton href={`${BASE}/billing-models/new`}>Another price</LinkButton>
        <Button kind="primary" type="submit" is_busy={is_busy}>
          Take this price
        </Button>
      </div>
    </form>
  );
}

function SubscriptionStep({ ids, name }: { ids: readonly [number, number, number]; name: string }) {
  const [client_id, product_id, billing_model_id] = ids;
  return (
    <Form
      schema="CreateSubscription"
      act="Start subscription"
      initial={{ name: `${name}, production`, external_subscription_id: "acme-api" }}
      submit={(values, key) =>
        write(createSubscription, { ...values, client_id, product_id, billing_model_id }, { key })
      }
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" />
          <TextField
            form={form}
            name="external_subscription_id"
            label="Your own id for it"
            help="Usage events name the subscription by it."
          />
        </>
      )}
    </Form>
  );
}

interface Key {
  clientId: string;
  clientSecret: string;
}

function EventStep({ of }: { of: SubscriptionDetail }) {
  const [key, setKey] = useState<Key>();
  const { submit, is_busy, failure } = useSubmit(async (once) => {
    const { data } = await write(
      createApiKey,
      { name: "First steps", role: "ingest", environment: "production" },
      { key: once },
    );
    setKey(data);
  });
  return (
    <>
      <p>Usage is sent by a program with a key of its own, which may send usage and nothing else.</p>
      {key === undefined && may("api_keys:write") && (
        <>
          {failure && <FailureNotice failure={failure} />}
          <Button kind="primary" is_busy={is_busy} onClick={() => void submit()}>
            Make a key
          </Button>
        </>
      )}
      {key && <Command of={of} keys={key} />}
      <Arrival of={of} />
    </>
  );
}

function Command({ of, keys }: { of: SubscriptionDetail; keys: Key }) {
  const command = `URL=${location.origin}/api/v1
TOKEN=$(curl -s $URL/auth/token -H 'Content-Type: application/json' \\
  -d '{"clientId": "${keys.clientId}", "clientSecret": "${keys.clientSecret}"}' \\
  | sed 's/.*"token":"\\([^"]*\\)".*/\\1/')
curl $URL/usage/events -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\
  -d '{"external_subscription_id": "${of.external_subscription_id}", "usage": 1250}'`;
  const shown = useRef<HTMLPreElement>(null);
  // The button that made the key is gone.
  useEffect(() => shown.current?.focus(), []);
  return (
    <>
      <p>This is the only time that the key's secret is shown. Paste it into a terminal:</p>
      <pre ref={shown} tabIndex={0}>
        <code>{command}</code>
      </pre>
      <CopyButton text={command} />
    </>
  );
}

const LOOK_EVERY_MS = 1_500;

/** Looks at the running bill until usage is on it. */
function Arrival({ of }: { of: SubscriptionDetail }) {
  const preview = useAnswer(previewBill, { id: of.id });
  const [seen_at, setSeenAt] = useState<number>();
  const answer = preview.answer?.data;
  const events = answer?.lines.reduce((sum, line) => sum + (line.event_count ?? 0), 0) ?? 0;
  useEffect(() => {
    if (events > 0) {
      setSeenAt((before) => before ?? performance.timeOrigin + performance.now());
      return undefined;
    }
    const timer = setInterval(preview.reload, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [events > 0]);
  if (preview.failure) return <FailureNotice failure={preview.failure} onRetry={preview.reload} />;
  if (answer === undefined || events === 0)
    return (
      <p class="soft" role="status">
        Waiting for the first event …
      </p>
    );
  const units = answer.lines.find((line) => line.event_count !== null)?.quantity ?? "0";
  return (
    <Section title="It has arrived">
      <p role="status">
        <Badge tone="good">Counted</Badge> {count(events, "event")}, {number(units)} units
        {seen_at !== undefined && `, ${ago(seen_at)}`}. So far the month comes to{" "}
        <strong>{money(answer.total, answer.currency)}</strong>.
      </p>
      <BillLines lines={answer.lines} currency={answer.currency} total={answer.total} label="Running bill" />
      <p>
        The bill is written when the month ends, by itself. To see what would be billed now, run billing: it
        shows first.
      </p>
      <div class="actions">
        <LinkButton kind="primary" href={`${BASE}/subscriptions/${of.id}`}>
          See the subscription
        </LinkButton>
        <LinkButton href={`${BASE}/billing-runs`}>Billing runs</LinkButton>
      </div>
    </Section>
  );
}
