import type { ComponentChildren, ComponentType } from "preact";
import { useState } from "preact/hooks";
import { useAnswer } from "../api/cache.ts";
import type { Endpoint } from "../api/call.ts";
import { Button } from "./button.tsx";
import { Dialog, type useSubmit } from "./dialog.tsx";
import { List } from "./list.tsx";
import { Badge, Page } from "./page.tsx";
import { useQuery } from "./query.ts";
import { Empty, FailureNotice } from "./states.tsx";
import type { Column } from "./table.tsx";
import { Time } from "./timeline.tsx";

interface Erasure {
  id: number;
  status: string;
  created_at: string;
}

/** A page of what was erased for good, and of erasing more. */
export function ErasuresOf<E extends Erasure>(props: {
  title: string;
  intro: string;
  /** What the button does. */
  act: string;
  tabs: ComponentChildren;
  from: Endpoint<E[]>;
  /** What an erasure went by, and how much it took. */
  columns: readonly Column<E>[];
  /** What it is for. */
  why: string;
  Erasing: ComponentType<{ onClose: () => void }>;
}) {
  const { title, intro, act, tabs, from, columns, why, Erasing } = props;
  const query = useQuery();
  const erasures = useAnswer(from, query.input([]));
  const [is_open, setOpen] = useState(false);
  return (
    <Page
      title={title}
      intro={intro}
      actions={
        <Button kind="danger" data-new onClick={() => setOpen(true)}>
          {act}
        </Button>
      }
    >
      {tabs}
      <List
        title="Erasures"
        label="Erasures"
        loaded={erasures}
        columns={[
          { title: "Erasure", cell: ({ id }) => `#${id}` },
          {
            title: "State",
            cell: ({ status }) => <Badge tone={status === "done" ? "good" : "busy"}>{status}</Badge>,
          },
          ...columns,
          { title: "Asked for", is_minor: true, cell: ({ created_at }) => <Time at={created_at} /> },
        ]}
        query={query}
        empty={<Empty title="No erasures yet">{why}</Empty>}
      />
      {is_open && <Erasing onClose={() => setOpen(false)} />}
    </Page>
  );
}

/** Before anything is erased: who or what is meant, and a look at what that would be. */
export function LookFirst(props: {
  title: string;
  /** Says that nothing is done. */
  leave: string;
  look: ReturnType<typeof useSubmit>;
  is_asked: boolean;
  onClose: () => void;
  /** The fields. */
  children: ComponentChildren;
  /** What was found, where it cannot be erased. */
  found?: ComponentChildren;
}) {
  const { title, leave, look, is_asked, onClose, children, found } = props;
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {look.failure && <FailureNotice failure={look.failure} />}
      {found}
      <div class="actions end">
        <Button onClick={onClose}>{leave}</Button>
        <Button kind="primary" is_busy={look.is_busy} disabled={!is_asked} onClick={() => void look.submit()}>
          Show what would be erased
        </Button>
      </div>
    </Dialog>
  );
}
