import { useLocation } from "preact-iso";
import type { Simulation } from "../../../billing/simulations/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { money } from "../../text/money.ts";
import { monthsOf } from "../../text/time.ts";
import { Money } from "../../ui/bill_lines.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form, within } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { PickField } from "../../ui/picker.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { BILLING_MODELS } from "../../ui/sources.ts";
import { createSimulation, listSimulations } from "./calls.ts";

export const TONES = { running: "busy", finished: "good", failed: "bad" } as const;

const columns: Column<Simulation>[] = [
  {
    title: "Simulation",
    cell: ({ id, from, to }) => (
      <a href={`${BASE}/simulations/${id}`}>
        #{id}, {monthsOf({ from, to })}
      </a>
    ),
  },
  { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { title: "Billed", is_figure: true, cell: ({ totals, currency }) => money(totals.billed, currency) },
  { title: "Would be", is_figure: true, cell: ({ totals, currency }) => money(totals.simulated, currency) },
  {
    title: "Difference",
    is_figure: true,
    cell: ({ totals, currency }) => <Money of={totals.difference} currency={currency} />,
  },
  { title: "Begun", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Prices tried on the past. */
export function SimulationsPage() {
  const query = useQuery();
  const creation = useCreation(query, "Try a price", "simulations:write");
  const simulations = useAnswer(listSimulations, query.input([]));
  return (
    <Page
      title="Simulations"
      intro="What another price would have earned, on months that were really billed. The prices in force must come to what was billed, to the cent."
      actions={creation.button}
    >
      <List
        title="All simulations"
        label="Simulations"
        loaded={simulations}
        columns={columns}
        query={query}
        empty={
          <Empty title="No simulations yet" action={creation.first}>
            Nothing but the simulation itself is written.
          </Empty>
        }
      />
      {creation.is_open && <NewSimulation onClose={creation.close} />}
    </Page>
  );
}

function NewSimulation({ onClose }: { onClose: () => void }) {
  const { route } = useLocation();
  return (
    <Dialog title="Try a price on the past" onClose={onClose}>
      <Form
        schema="CreateSimulation"
        act="Begin"
        onCancel={onClose}
        submit={async (values, key) => {
          const { data } = await write(createSimulation, values, { key });
          route(`${BASE}/simulations/${data.id}`);
        }}
      >
        {(form) => (
          <>
            <PickField
              form={form}
              name="billing_model_id"
              label="The price that is tried"
              source={BILLING_MODELS}
              help={null}
            />
            <PickField
              form={within(form, "of")}
              name="billing_model_id"
              label="In place of"
              source={BILLING_MODELS}
              help="What was billed by this model; left empty: by any."
            />
            <div class="field-row">
              <TextField form={form} name="from" label="From" type="month" help={null} />
              <TextField form={form} name="to" label="To" type="month" help="The last month, counted too." />
            </div>
          </>
        )}
      </Form>
    </Dialog>
  );
}
