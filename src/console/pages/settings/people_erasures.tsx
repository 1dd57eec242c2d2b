import { useState } from "preact/hooks";
import type { FindPerson, PersonErasure, PersonPreview, PersonPreviews } from "../../../people/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { list, post, type Received, send } from "../../api/call.ts";
import { count, number } from "../../text/number.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Button } from "../../ui/button.tsx";
import { Confirm, Dialog, useSubmit } from "../../ui/dialog.tsx";
import { Choose, choicesOf, TextInput } from "../../ui/explorer/choose.tsx";
import { Badge, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty, FailureNotice } from "../../ui/states.tsx";
import { type Column, ListTable, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";

type Erasure = Received<PersonErasure>;
type Preview = Received<PersonPreview>;

const listErasures = list<typeof PersonErasure>("/people/erasures");
const previewErasure = post<typeof PersonPreviews>("/people/erasures/preview");
const erasePerson = post<typeof PersonErasure>("/people/erasures");

const columns: Column<Erasure>[] = [
  { title: "Erasure", cell: ({ id }) => `#${id}` },
  {
    title: "State",
    cell: ({ status }) => <Badge tone={status === "done" ? "good" : "busy"}>{status}</Badge>,
  },
  { title: "Who", cell: ({ subjects }) => subjects.map(({ kind, id }) => `${kind} #${id}`).join(", ") },
  { title: "Records", is_figure: true, cell: ({ records }) => number(records) },
  { title: "Asked for", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

/** Erasures of people, wherever they are named. */
export function PeopleErasuresPage() {
  const query = useQuery();
  const erasures = useAnswer(listErasures, query.input([]));
  const [is_open, setOpen] = useState(false);
  return (
    <Page
      title="Erasing people"
      intro="What is about a person goes for good, wherever it stands. Amounts, ids, states and dates stay."
      actions={
        <Button kind="danger" data-new onClick={() => setOpen(true)}>
          Erase a person
        </Button>
      }
    >
      <AreaTabs at="/settings/erasures" />
      <Section title="Erasures">
        <ListTable
          label="Erasures"
          loaded={erasures}
          columns={columns}
          keyOf={({ id }) => id}
          query={query}
          empty={<Empty title="No erasures yet">For when a person asks for it.</Empty>}
        />
      </Section>
      {is_open && <Erasing onClose={() => setOpen(false)} />}
    </Page>
  );
}

const BY = {
  email: "Email",
  user_id: "Number of a user",
  client_id: "Number of a client",
  customer_id: "Number of a customer of mandates",
  application_id: "Number of a loan application",
} satisfies Record<keyof FindPerson, string>;

function Erasing({ onClose }: { onClose: () => void }) {
  const [by, setBy] = useState<keyof FindPerson>("email");
  const [who, setWho] = useState("");
  const [found, setFound] = useState<readonly Preview[]>();
  const body = { [by]: by === "email" ? who : Number(who) };
  const look = useSubmit(async (key) => {
    setFound((await send(previewErasure, body, { key })).data.subjects);
  });
  const is_blocked = found?.some(({ blocked }) => blocked !== null) ?? false;
  if (found !== undefined && !is_blocked && found.length > 0)
    return (
      <Confirm
        title="Erase for good?"
        act={`Erase ${count(found.length, "record of a person", "records of people")}`}
        name={who}
        onClose={onClose}
        run={(key) => write(erasePerson, body, { key })}
      >
        <Found of={found} />
        <p>It can't be undone. Sessions end at once.</p>
      </Confirm>
    );
  return (
    <Dialog title="Erase a person" onClose={onClose}>
      <Choose label="Found by" value={by} choices={choicesOf(BY)} onChoose={setBy} />
      <TextInput
        label={BY[by]}
        value={who}
        onType={(text) => {
          setWho(text.trim());
          setFound(undefined);
        }}
      />
      {look.failure && <FailureNotice failure={look.failure} />}
      {found && (found.length === 0 ? <p>Nobody has it.</p> : <Found of={found} />)}
      <div class="actions end">
        <Button onClick={onClose}>Erase nobody</Button>
        <Button kind="primary" disabled={look.is_busy || who === ""} onClick={() => void look.submit()}>
          Show what would be erased
        </Button>
      </div>
    </Dialog>
  );
}

function Found({ of }: { of: readonly Preview[] }) {
  return (
    <Table
      label="What would be erased"
      rows={of}
      keyOf={({ kind, id }) => `${kind} ${id}`}
      columns={[
        { title: "Who", cell: ({ kind, id }) => `${kind} #${id}` },
        {
          title: "Records",
          cell: ({ records }) =>
            Object.entries(records)
              .map(([table, rows]) => `${number(rows)} ${table.replaceAll("_", " ")}`)
              .join(", "),
        },
        {
          title: "In the way",
          cell: ({ blocked, kept }) =>
            blocked !== null ? <Badge tone="bad">{blocked}</Badge> : (kept ?? "nothing"),
        },
      ]}
    />
  );
}
