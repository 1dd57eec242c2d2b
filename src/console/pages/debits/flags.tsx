import { useState } from "preact/hooks";
import type { MandateFlag } from "../../../emandate/flags/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { List } from "../../ui/list.tsx";
import { MandateLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { TextAreaField } from "../../ui/fields.tsx";
import { SelectFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { listFlags, resolveFlag } from "./calls.ts";

const columns: Column<MandateFlag>[] = [
  { title: "Why", cell: ({ reason }) => words(reason) },
  {
    title: "Mandate",
    cell: ({ mandate_id }) => <MandateLink id={mandate_id} />,
  },
  {
    title: "Debit",
    cell: ({ payment_id }) =>
      payment_id === null ? "–" : <a href={`${BASE}/debits/payments/${payment_id}`}>#{payment_id}</a>,
  },
  {
    title: "The bank says",
    is_minor: true,
    cell: ({ message, response_code }) => message ?? response_code ?? "–",
  },
  {
    title: "State",
    cell: ({ status, note }) => (
      <>
        <Badge tone={status === "open" ? "bad" : "good"}>{status}</Badge>
        {note !== null && <div class="soft">{note}</div>}
      </>
    ),
  },
  { title: "Raised", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Debits and mandates that a person must look at. */
export function FlagsPage() {
  const query = useQuery();
  const flags = useAnswer(listFlags, query.input(["status", "mandate_id", "payment_id"]));
  const [open, setOpen] = useState<MandateFlag>();
  const close = () => setOpen(undefined);
  const acts = (of: MandateFlag) =>
    of.status === "open" && <Button onClick={() => setOpen(of)}>Resolve</Button>;
  return (
    <Page title="Flags" intro="Results that contradict earlier ones, or never came: a person decides.">
      <AreaTabs at="/debits/flags" />
      <List
        title="All flags"
        label="Flags"
        loaded={flags}
        columns={columns}
        query={query}
        filters={
          <SelectFilter
            query={query}
            name="status"
            label="State"
            choices={[
              { value: "open", label: "open" },
              { value: "resolved", label: "resolved" },
            ]}
          />
        }
        empty={<Empty title="None">Every result could be applied by itself.</Empty>}
        {...(may("emandate:write") && { acts })}
      />
      {open && (
        <FormDialog
          title={`Resolve: ${words(open.reason)}`}
          onClose={close}
          schema="ResolveMandateFlag"
          act="Resolve"
          submit={(values, key) => write(resolveFlag, { ...values, id: open.id }, { key })}
        >
          {(form) => <TextAreaField form={form} name="note" label="What was done" rows={3} help={null} />}
        </FormDialog>
      )}
    </Page>
  );
}
