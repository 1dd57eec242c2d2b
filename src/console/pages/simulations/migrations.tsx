import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { Static } from "@sinclair/typebox";
import type {
  BegunMigration,
  BillingModelMigration,
  MigrationError,
} from "../../../billing/billing_model_migrations/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { send } from "../../api/call.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { count, number } from "../../text/number.ts";
import { List } from "../../ui/list.tsx";
import { BillingModelLink, SubscriptionLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Sheet, useSubmit } from "../../ui/dialog.tsx";
import { SelectField } from "../../ui/fields.tsx";
import { Form, type Values } from "../../ui/form.tsx";
import { History } from "../../ui/history.tsx";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await, Empty, FailureNotice } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { BILLING_MODELS } from "../../ui/sources.ts";
import { createMigration, getMigration, listMigrations } from "./calls.ts";

const columns: Column<BillingModelMigration>[] = [
  { title: "Migration", cell: ({ id }) => <a href={`${BASE}/migrations/${id}`}>#{id}</a> },
  { title: "From", cell: ({ from_billing_model_id }) => <BillingModelLink id={from_billing_model_id} /> },
  { title: "To", cell: ({ to_billing_model_id }) => <BillingModelLink id={to_billing_model_id} /> },
  {
    title: "State",
    cell: ({ status }) => <Badge tone={status === "running" ? "busy" : "good"}>{status}</Badge>,
  },
  {
    title: "Moved",
    is_figure: true,
    cell: ({ counts }) => `${number(counts.changed)} of ${number(counts.subscriptions)}`,
  },
  { title: "Failed", is_figure: true, cell: ({ counts }) => number(counts.failed) },
  { title: "Begun", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Moves of many subscriptions to another billing model. */
export function MigrationsPage() {
  const query = useQuery();
  const creation = useCreation(query, "Move subscriptions", "subscriptions:write");
  const migrations = useAnswer(listMigrations, query.input([]));
  return (
    <Page
      title="Migrations"
      intro="Moves all subscriptions on one billing model to another, each at its next period. First it shows whom."
      actions={creation.button}
    >
      <List
        title="All migrations"
        label="Migrations"
        loaded={migrations}
        columns={columns}
        query={query}
        empty={<Empty title="None yet">Nobody moves unasked.</Empty>}
      />
      {creation.is_open && <NewMigration onClose={creation.close} />}
    </Page>
  );
}

function NewMigration({ onClose }: { onClose: () => void }) {
  const { route } = useLocation();
  const [planned, setPlanned] = useState<{ values: Values; result: Static<typeof BegunMigration> }>();
  const real = useSubmit(async (key) => {
    const { data } = await write(createMigration, { ...planned?.values }, { key });
    if (data.id !== undefined) route(`${BASE}/migrations/${data.id}`);
  });
  return (
    <Sheet title="Move subscriptions" onClose={onClose}>
      <Form
        schema="CreateBillingModelMigration"
        act="Show who would move"
        initial={{ at: "next_period" }}
        submit={async (values, key) => {
          const { data } = await send(createMigration, { ...values, dry_run: true }, { key });
          setPlanned({ values, result: data });
        }}
      >
        {(form) => (
          <>
            <PickField
              form={form}
              name="from_billing_model_id"
              label="From"
              source={BILLING_MODELS}
              help={null}
            />
            <PickField
              form={form}
              name="to_billing_model_id"
              label="To"
              source={BILLING_MODELS}
              help={null}
            />
            <SelectField
              form={form}
              name="at"
              label="When"
              help={null}
              choices={[{ value: "next_period", label: "each at its next period" }]}
            />
          </>
        )}
      </Form>
      {planned && (
        <>
          <h3>{count(planned.result.counts.subscriptions, "subscription")} would move</h3>
          <Errors of={planned.result.errors} />
          {real.failure && <FailureNotice failure={real.failure} />}
          <div class="actions end">
            <Button onClick={onClose}>Move nobody</Button>
            <Button kind="primary" is_busy={real.is_busy} onClick={() => void real.submit()}>
              Move {count(planned.result.counts.subscriptions, "subscription")}
            </Button>
          </div>
        </>
      )}
    </Sheet>
  );
}

function Errors({ of }: { of: readonly MigrationError[] }) {
  if (of.length === 0) return null;
  return (
    <Table
      label="Errors"
      rows={of}
      keyOf={({ subscription_id }) => subscription_id}
      columns={[
        {
          title: "Subscription",
          cell: ({ subscription_id }) => <SubscriptionLink id={subscription_id} />,
        },
        { title: "Why not", cell: ({ message }) => message },
      ]}
    />
  );
}

/** One migration, as it goes on. */
export function MigrationPage({ params }: PageProps) {
  const [is_running, setRunning] = useState(true);
  const migration = useAnswer(getMigration, { id: params.id }, is_running ? { every_ms: 1_000 } : {});
  const record = migration.answer?.data;
  if (record !== undefined && (record.status === "running") !== is_running)
    setRunning(record.status === "running");
  return (
    <Page
      title={`Migration #${params.id ?? ""}`}
      above={<a href={`${BASE}/migrations`}>Migrations</a>}
      beside={record && <Badge tone={record.status === "running" ? "busy" : "good"}>{record.status}</Badge>}
    >
      <Await of={migration}>
        {(of) => (
          <>
            <Section
              title={`${number(of.counts.changed)} of ${count(of.counts.subscriptions, "subscription")} moved`}
            >
              <Facts
                of={[
                  ["From", <BillingModelLink id={of.from_billing_model_id} />],
                  ["To", <BillingModelLink id={of.to_billing_model_id} />],
                  ["When", of.at === "next_period" ? "each at its next period" : <Time at={of.at} />],
                  ["Failed", number(of.counts.failed)],
                  ["Begun", <Time at={of.created_at} />],
                  ["Finished", <Time at={of.finished_at} />],
                ]}
              />
              <Errors of={of.errors} />
            </Section>
            <History of="migration" id={of.id} />
          </>
        )}
      </Await>
    </Page>
  );
}
