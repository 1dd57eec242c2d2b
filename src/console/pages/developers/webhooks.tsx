import { useState } from "preact/hooks";
import type { Webhook } from "../../../webhooks/endpoints/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may } from "../../app/session.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { Breakable } from "../../ui/breakable.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm, SecretOnce } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { TagsField, TextAreaField, TextField } from "../../ui/fields.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { attempt, say } from "../../ui/toast.tsx";
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  rotateSecret,
  testWebhook,
  updateWebhook,
} from "./calls.ts";

const columns: Column<Webhook>[] = [
  {
    title: "Address",
    cell: ({ id, url, description }) => (
      <>
        <a href={`${BASE}/developers/deliveries?endpoint_id=${id}`}>
          <Breakable of={url} />
        </a>
        {description !== null && <div class="soft">{description}</div>}
      </>
    ),
  },
  { title: "Events", cell: ({ event_types }) => event_types.join(", ") },
  {
    title: "State",
    cell: ({ status, disabled_reason }) => (
      <>
        <Badge tone={status === "active" ? "good" : "bad"}>{status}</Badge>
        {disabled_reason !== null && <div class="soft">{disabled_reason}</div>}
      </>
    ),
  },
];

type Open = { kind: "edit" | "rotate" | "delete"; of: Webhook };

/** Switches a webhook on or off. */
async function switchTo({ id }: Webhook, status: Webhook["status"]): Promise<void> {
  // The whole of it is written: as it is now, not as this page has it.
  const { data, etag } = await readAnew(getWebhook, { id });
  const { url, event_types, description } = data;
  await write(updateWebhook, { id, url, event_types, description, status }, { if_match: etag });
  say(status === "active" ? "Switched on: what waited is delivered" : "Switched off");
}

/** Endpoints that are told what happens. */
export function WebhooksPage() {
  const query = useQuery();
  const creation = useCreation(query, "New webhook", "webhooks:write");
  const webhooks = useAnswer(listWebhooks, query.input(["search"]));
  const [open, setOpen] = useState<Open>();
  const [secret, setSecret] = useState<string>();
  const close = () => setOpen(undefined);
  const can_write = may("webhooks:write");
  const acts = (of: Webhook) => (
    <Menu label={`Acts for ${of.url}`}>
      <MenuItem
        onSelect={() =>
          attempt(write(testWebhook, { id: of.id }).then(({ data }) => say(`Test: ${data.status}`)))
        }
      >
        Send a test
      </MenuItem>
      <MenuItem onSelect={() => setOpen({ kind: "edit", of })}>Edit</MenuItem>
      <MenuItem onSelect={() => attempt(switchTo(of, of.status === "active" ? "disabled" : "active"))}>
        {of.status === "active" ? "Switch off" : "Switch on"}
      </MenuItem>
      <MenuItem onSelect={() => setOpen({ kind: "rotate", of })}>New secret</MenuItem>
      <MenuItem onSelect={() => setOpen({ kind: "delete", of })}>Delete</MenuItem>
    </Menu>
  );
  return (
    <Page
      title="Webhooks"
      intro="Addresses of your programs that are told what happens, signed by the Standard Webhooks specification and repeated for three days."
      actions={creation.button}
    >
      <AreaTabs at="/developers/webhooks" />
      <List
        title="All webhooks"
        label="Webhooks"
        loaded={webhooks}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Address" />}
        empty={
          <Empty title="No webhooks yet" action={creation.first}>
            Bills, plan changes, debits, applications, alerts: as they happen.
          </Empty>
        }
        {...(can_write && { acts })}
      />
      {(creation.is_open || open?.kind === "edit") && (
        <WebhookDialog
          {...(open && { of: open.of })}
          onSecret={setSecret}
          onClose={() => {
            close();
            creation.close();
          }}
        />
      )}
      {open?.kind === "rotate" && (
        <Confirm
          title="Make a new secret?"
          act="Make a new secret"
          onClose={close}
          run={async (key) => setSecret((await write(rotateSecret, { id: open.of.id }, { key })).data.secret)}
        >
          <p>
            Messages are signed with the old and the new one for a day, so that your program can change over.
          </p>
        </Confirm>
      )}
      {open?.kind === "delete" && (
        <Confirm
          title="Delete this webhook?"
          act="Delete webhook"
          name={open.of.url}
          onClose={close}
          run={(key) => write(deleteWebhook, { id: open.of.id }, { key })}
        >
          <p>Nothing is delivered there any more, also not what waits.</p>
        </Confirm>
      )}
      {secret !== undefined && (
        <SecretOnce title="The webhook's secret" secret={secret} onClose={() => setSecret(undefined)}>
          <p>Your program verifies signatures with it. It is shown this once.</p>
        </SecretOnce>
      )}
    </Page>
  );
}

function WebhookDialog({
  of,
  onSecret,
  onClose,
}: {
  of?: Webhook;
  onSecret: (secret: string) => void;
  onClose: () => void;
}) {
  return (
    <FormDialog
      title={of === undefined ? "New webhook" : "Edit webhook"}
      onClose={onClose}
      schema={of === undefined ? "CreateWebhook" : "WebhookChange"}
      act={of === undefined ? "Add webhook" : "Save"}
      {...(of === undefined
        ? { initial: { event_types: ["*"] } }
        : {
            edited: edited<Webhook>(of, {
              fields: ({ url, event_types, description }) => ({ url, event_types, description }),
              read: () => readAnew(getWebhook, { id: of.id }),
              is_replaced: true,
            }),
          })}
      submit={async (values, key, if_match) => {
        if (of === undefined) onSecret((await write(createWebhook, values, { key })).data.secret);
        else await write(updateWebhook, { ...values, id: of.id }, { key, if_match });
      }}
    >
      {(form) => (
        <>
          <TextField form={form} name="url" label="Address" type="url" placeholder="https://" />
          <TagsField
            form={form}
            name="event_types"
            label="Events"
            help="Such as *, subscription.*, billing_record.created. Enter adds one."
          />
          <TextAreaField form={form} name="description" label="Description" rows={2} help={null} />
        </>
      )}
    </FormDialog>
  );
}
