import { useState } from "preact/hooks";
import type { UsageView } from "../../../usage/views/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { LinkButton } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { callsOf, type ExplorerCalls, type Whose } from "../../ui/explorer/calls.ts";
import { exploredOf } from "../../ui/explorer/question.ts";
import { mayChange, viewUrl } from "../../ui/explorer/views.tsx";
import { fieldName, filterText, MEASURE_NAMES, rangeName } from "../../ui/explorer/words.ts";
import { CheckField, TextField } from "../../ui/fields.tsx";
import { SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import { UsageTabs } from "./tabs.tsx";
import { isolated } from "../../text/isolated.ts";

/** Questions of the explorer that somebody saved. */
export function ViewsPage() {
  return <Views whose="company" path="/usage" />;
}

/** Those of a client's user. */
export function MyViewsPage() {
  return <Views whose="mine" path="/my/usage" />;
}

function Views({ whose, path }: { whose: Whose; path: string }) {
  const calls = callsOf(whose);
  const { views, deleteView } = calls;
  const explorer = `${BASE}${path}`;
  const query = useQuery();
  const loaded = useAnswer(views, query.input(["search", "shared"]));
  const [renaming, setRenaming] = useState<UsageView>();
  const [deleting, setDeleting] = useState<UsageView>();
  return (
    <Page title="Saved views" intro={INTROS[whose]}>
      <UsageTabs at={`${path}/views`} />
      <List
        title="Views"
        label="Saved views"
        loaded={loaded}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="search" label="Name" />
            {whose === "company" && (
              <SelectFilter
                query={query}
                name="shared"
                label="Whose"
                choices={[
                  { value: "true", label: "Shared" },
                  { value: "false", label: "Only mine" },
                ]}
              />
            )}
          </>
        }
        columns={[
          {
            title: "Name",
            cell: (view) => (
              <>
                <a href={viewUrl(explorer, view)}>{view.name}</a> {view.shared && <Badge>shared</Badge>}
                <div class="soft">{summaryOf(view)}</div>
              </>
            ),
          },
          { title: "Changed", cell: ({ updated_at }) => <Time at={updated_at} />, is_minor: true },
        ]}
        acts={(view) =>
          may("views:write") &&
          mayChange(view) && (
            <Menu label={`Acts for ${view.name}`}>
              <MenuItem onSelect={() => setRenaming(view)}>Rename or share</MenuItem>
              <MenuItem onSelect={() => setDeleting(view)}>Delete</MenuItem>
            </Menu>
          )
        }
        empty={
          <Empty
            title="No saved views yet"
            action={<LinkButton href={explorer}>Open the explorer</LinkButton>}
          >
            Ask the explorer something that you will want to know again, and save it there.
          </Empty>
        }
      />
      {renaming && <Renaming calls={calls} view={renaming} onClose={() => setRenaming(undefined)} />}
      {deleting && (
        <Confirm
          title={`Delete “${isolated(deleting.name)}”?`}
          act="Delete view"
          onClose={() => setDeleting(undefined)}
          run={(key) => write(deleteView, { id: deleting.id }, { key })}
        >
          <p>
            {deleting.shared ? "Nobody in the company has it any more." : "Only you had it."} No usage is
            lost.
          </p>
        </Confirm>
      )}
    </Page>
  );
}

const INTROS: Record<Whose, string> = {
  company: "Questions to ask again: your own, and those shared with the company.",
  mine: "Questions to ask again, saved by you.",
};

/** What a view asks, in words. */
function summaryOf({ question }: UsageView): string {
  const { measure, by, filters, range } = exploredOf(question);
  const grouped = by.length === 0 ? "" : ` by ${by.map(fieldName).join(" and ").toLowerCase()}`;
  const conditions = filters.map((filter) => `, ${filterText(filter, (key) => key)}`).join("");
  return `${MEASURE_NAMES[measure]}${grouped}, ${rangeName(range, undefined).toLowerCase()}${conditions}`;
}

function Renaming(props: { calls: ExplorerCalls; view: UsageView; onClose: () => void }) {
  const { calls, view, onClose } = props;
  const { id } = view;
  return (
    <FormDialog
      title="Rename or share"
      onClose={onClose}
      schema="UpdateUsageView"
      act="Save"
      edited={edited(view, {
        fields: ({ name, shared, question, chart }) => ({ name, shared, question, chart }),
        read: () => readAnew(calls.view, { id }),
        is_replaced: true,
      })}
      submit={(values, key, if_match) => write(calls.updateView, { ...values, id }, { key, if_match })}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" />
          {may("usage:write") && (
            <CheckField form={form} name="shared" label="For all users of the company" />
          )}
        </>
      )}
    </FormDialog>
  );
}
