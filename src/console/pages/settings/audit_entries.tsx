import { useState } from "preact/hooks";
import type { AuditEntry } from "../../../audit/model.ts";
import type { Loaded } from "../../api/cache.ts";
import { words } from "../../ui/names.ts";
import { Button } from "../../ui/button.tsx";
import { Sheet } from "../../ui/dialog.tsx";
import { Badge, Facts, Json } from "../../ui/page.tsx";
import type { QueryState } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import { type Column, ListTable, Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";

export const ORIGIN_NAMES: Record<AuditEntry["origin"], string> = {
  rest: "Interface or console",
  mcp: "Agent",
  job: "Job",
  cli: "Command line",
};

/** Entries of the audit log; one opens at the side, with all that it says. */
export function AuditEntries(props: { label: string; loaded: Loaded<AuditEntry[]>; query: QueryState }) {
  const [open, setOpen] = useState<AuditEntry>();
  const columns: Column<AuditEntry>[] = [
    {
      title: "What",
      cell: (entry) => (
        <>
          <Button kind="link" onClick={() => setOpen(entry)}>
            {words(entry.operation)}
          </Button>{" "}
          {entry.outcome === "refused" && <Badge tone="bad">refused</Badge>}
        </>
      ),
    },
    { title: "On", cell: ({ target }) => `${words(target.type)} ${target.id ?? ""}` },
    { title: "Who", cell: ({ actor }) => actorOf(actor) },
    { title: "Through", cell: ({ origin }) => ORIGIN_NAMES[origin], is_minor: true },
    { title: "When", cell: ({ at }) => <Time at={at} /> },
  ];
  return (
    <>
      <ListTable
        {...props}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<Empty title="Nothing yet">Every change, sign-in and refusal will be here.</Empty>}
      />
      {open && <EntrySheet entry={open} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function EntrySheet({ entry, onClose }: { entry: AuditEntry; onClose: () => void }) {
  const { operation, at, actor, origin, address, target, outcome, request_id, changes, input } = entry;
  return (
    <Sheet title={`${words(operation)}, ${words(target.type)} ${target.id ?? ""}`} onClose={onClose}>
      <Facts
        of={[
          ["When", <Time at={at} />],
          ["Who", actorOf(actor)],
          ["Through", ORIGIN_NAMES[origin]],
          ["From", address],
          ["Outcome", outcome],
          ["Request", <code>{request_id}</code>],
        ]}
      />
      {changes !== null && (
        <>
          <h3>Changed</h3>
          <Table
            label="Changed"
            rows={Object.entries(changes)}
            keyOf={([field]) => field}
            columns={[
              { title: "Field", cell: ([field]) => words(field) },
              { title: "Before", cell: ([, change]) => <code>{JSON.stringify(change.old)}</code> },
              { title: "After", cell: ([, change]) => <code>{JSON.stringify(change.new)}</code> },
            ]}
          />
        </>
      )}
      <h3>Sent</h3>
      <Json of={input} />
    </Sheet>
  );
}

function actorOf({ kind, email, role, authorization_id, key_id }: AuditEntry["actor"]): string {
  if (kind === "user") {
    const user = `${email ?? "a deleted user"} (${words(role ?? "")})`;
    return authorization_id === null ? user : `an agent for ${user}`;
  }
  return kind === "key" ? `API key ${key_id ?? ""}` : kind;
}
