import { useState } from "preact/hooks";
import type { UsageView } from "../../../usage/views/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may, me } from "../../app/session.ts";
import { Button } from "../button.tsx";
import { Dialog, useSubmit } from "../dialog.tsx";
import { readAnew } from "../edited.ts";
import { CheckField, TextField } from "../fields.tsx";
import { Form } from "../form.tsx";
import { Menu, MenuItem } from "../menu.tsx";
import type { QueryState } from "../query.ts";
import { FailureNotice } from "../states.tsx";
import { say } from "../toast.tsx";
import type { ExplorerCalls } from "./calls.ts";
import { type Explored, exploredOf, exploreUrl, questionOf } from "./question.ts";
import { isolated } from "../../text/isolated.ts";

/** The address of a saved view. */
export function viewUrl(path: string, { id, question, chart }: UsageView): string {
  const url = exploreUrl(path, { ...exploredOf(question), chart: chart ?? undefined });
  return `${url}${url.includes("?") ? "&" : "?"}view=${id}`;
}

/** Whether who is signed in may change a view. */
export const mayChange = ({ shared, user_id }: UsageView): boolean =>
  shared ? may("usage:write") : user_id === me.value?.id;

/** The view that is open, by the address, and whether it is still what was saved. */
export function useOpenView(query: QueryState, of: Explored, calls: ExplorerCalls) {
  const id = query.values.view;
  const { answer } = useAnswer(calls.view, id === undefined ? null : { id });
  const view = id === undefined ? undefined : answer?.data;
  const is_changed =
    view !== undefined &&
    (JSON.stringify(questionOf(exploredOf(view.question))) !== JSON.stringify(questionOf(of)) ||
      (view.chart ?? undefined) !== of.chart);
  return { view, is_changed };
}

/** Saved views, to open one. */
export function ViewsMenu({ calls, path, all }: { calls: ExplorerCalls; path: string; all: string }) {
  const views = useAnswer(calls.views, { page: 1, limit: 20 });
  const rows = views.answer?.data ?? [];
  if (rows.length === 0) return null;
  return (
    <Menu label="Saved views" icon="down" text="Views">
      {rows.map((view) => (
        <MenuItem key={view.id} href={viewUrl(path, view)}>
          {isolated(view.name)}
          {view.shared && <span class="soft"> · shared</span>}
        </MenuItem>
      ))}
      <MenuItem href={all}>All views</MenuItem>
    </Menu>
  );
}

/** Saves what is explored under a name, or again under the one that it has. */
export function SaveButton(props: {
  of: Explored;
  open: { view: UsageView | undefined; is_changed: boolean };
  calls: ExplorerCalls;
  query: QueryState;
}) {
  const { of, open, calls, query } = props;
  const [is_open, setOpen] = useState(false);
  const body = { question: questionOf(of), chart: of.chart ?? null };
  const { view, is_changed } = open;
  const done = () => {
    say("Saved");
    setOpen(false);
  };
  const again = async (key: string) => {
    if (view === undefined) return;
    const { id } = view;
    // The whole of it is written: its name as it is now, not as this page has it.
    const { data, etag } = await readAnew(calls.view, { id });
    const { name, shared } = data;
    await write(calls.updateView, { id, name, shared, ...body }, { key, if_match: etag });
  };
  const { submit, is_busy, failure } = useSubmit(again, done);
  if (!may("views:write")) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{view === undefined ? "Save view" : "Save"}</Button>
      {is_open && (
        <Dialog title="Save this view" onClose={() => setOpen(false)}>
          {view && is_changed && mayChange(view) && (
            <div class="notice">
              <p>
                This is “{isolated(view.name)}”, changed. Save it as it is now, or under another name below.
              </p>
              <Button is_busy={is_busy} onClick={() => void submit()}>
                Save “{isolated(view.name)}”
              </Button>
              {failure && <FailureNotice failure={failure} />}
            </div>
          )}
          <Form
            schema="CreateUsageView"
            act="Save"
            submit={async (values, key) => {
              const { data } = await write(calls.createView, { ...values, ...body }, { key });
              query.set({ view: String(data.id) }, true);
            }}
            onDone={done}
            onCancel={() => setOpen(false)}
          >
            {(form) => (
              <>
                <TextField form={form} name="name" label="Name" />
                {may("usage:write") && (
                  <CheckField form={form} name="shared" label="For all users of the company" />
                )}
              </>
            )}
          </Form>
        </Dialog>
      )}
    </>
  );
}
