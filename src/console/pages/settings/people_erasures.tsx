import { useState } from "preact/hooks";
import type { FindPerson, PersonErasure, PersonPreview, PersonPreviews } from "../../../people/model.ts";
import { write } from "../../api/cache.ts";
import { list, post, type Received, send } from "../../api/call.ts";
import { count, number } from "../../text/number.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Confirm, useSubmit } from "../../ui/dialog.tsx";
import { ErasuresOf, LookFirst } from "../../ui/erasures.tsx";
import { Choose, choicesOf, TextInput } from "../../ui/explorer/choose.tsx";
import { Badge } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";

type Erasure = Received<PersonErasure>;
type Preview = Received<PersonPreview>;

const listErasures = list<typeof PersonErasure>("/people/erasures");
const previewErasure = post<typeof PersonPreviews>("/people/erasures/preview");
const erasePerson = post<typeof PersonErasure>("/people/erasures");

const columns: Column<Erasure>[] = [
  { title: "Who", cell: ({ subjects }) => subjects.map(({ kind, id }) => `${kind} #${id}`).join(", ") },
  { title: "Records", is_figure: true, cell: ({ records }) => number(records) },
];

/** Erasures of people, wherever they are named. */
export function PeopleErasuresPage() {
  return (
    <ErasuresOf
      title="Erasing people"
      intro="What is about a person goes for good, wherever it stands. Amounts, ids, states and dates stay."
      act="Erase a person"
      tabs={<AreaTabs at="/settings/erasures" />}
      from={listErasures}
      columns={columns}
      why="For when a person asks for it."
      Erasing={Erasing}
    />
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
    <LookFirst
      title="Erase a person"
      leave="Erase nobody"
      look={look}
      is_asked={who !== ""}
      onClose={onClose}
      found={found && (found.length === 0 ? <p>Nobody has it.</p> : <Found of={found} />)}
    >
      <Choose label="Found by" value={by} choices={choicesOf(BY)} onChoose={setBy} />
      <TextInput
        label={BY[by]}
        value={who}
        onType={(text) => {
          setWho(text.trim());
          setFound(undefined);
        }}
      />
    </LookFirst>
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
