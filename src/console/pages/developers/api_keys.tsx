import { useState } from "preact/hooks";
import type { ApiKey } from "../../../access/api_keys/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { may } from "../../app/session.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { CopyButton } from "../../ui/button.tsx";
import { Breakable } from "../../ui/breakable.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm, SecretOnce } from "../../ui/dialog.tsx";
import { NumberField, SelectField, TextField } from "../../ui/fields.tsx";
import { SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { Badge, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { createApiKey, listApiKeys, revokeApiKey, rotateApiKey } from "./calls.ts";

const ROLES = [
  { value: "ingest", label: "ingest: sends usage" },
  { value: "gateway", label: "gateway: sends usage, checks limits and reserves" },
  { value: "lender", label: "lender: the lender's system for loans" },
  { value: "agent", label: "agent: a loan agent's system" },
];

const columns: Column<ApiKey>[] = [
  {
    title: "Key",
    cell: ({ name, clientId, last4 }) => (
      <>
        {name}
        <div class="soft">
          <Breakable of={clientId} />, <span class="whole">…{last4}</span>
        </div>
      </>
    ),
  },
  {
    title: "For",
    cell: ({ role, environment }) => (
      <>
        <Badge>{role}</Badge> {environment === "staging" && <Badge tone="warn">staging</Badge>}
      </>
    ),
  },
  {
    title: "State",
    cell: ({ revoked_at, old_secret_ends_at }) =>
      revoked_at === null ? (
        <>
          <Badge tone="good">active</Badge>
          {old_secret_ends_at !== null && (
            <div class="soft">
              old secret until <Time at={old_secret_ends_at} />
            </div>
          )}
        </>
      ) : (
        <Badge>revoked</Badge>
      ),
  },
  { title: "Last used", is_minor: true, cell: ({ last_used_at }) => <Time at={last_used_at} /> },
];

interface Shown {
  clientId: string;
  clientSecret: string;
}

/** Credentials of programs. */
export function ApiKeysPage() {
  const query = useQuery();
  const creation = useCreation(query, "New key", "api_keys:write");
  const keys = useAnswer(listApiKeys, query.input(["search", "role", "environment", "revoked"]));
  const [open, setOpen] = useState<{ kind: "rotate" | "revoke"; of: ApiKey }>();
  const [shown, setShown] = useState<Shown>();
  const close = () => setOpen(undefined);
  const can_write = may("api_keys:write");
  const acts = (of: ApiKey) =>
    of.revoked_at === null && (
      <Menu label={`Acts for ${of.name}`}>
        <MenuItem onSelect={() => setOpen({ kind: "rotate", of })}>New secret</MenuItem>
        <MenuItem onSelect={() => setOpen({ kind: "revoke", of })}>Revoke</MenuItem>
      </Menu>
    );
  return (
    <Page
      title="API keys"
      intro="Credentials of programs, each for one purpose. A program exchanges its key for tokens of an hour."
      actions={creation.button}
    >
      <AreaTabs at="/developers/api-keys" />
      <List
        title="All keys"
        label="API keys"
        loaded={keys}
        columns={columns}
        query={query}
        filters={
          <>
            <SearchFilter query={query} name="search" label="Name" />
            <SelectFilter query={query} name="role" label="For" choices={ROLES} />
            <SelectFilter
              query={query}
              name="revoked"
              label="State"
              choices={[
                { value: "false", label: "active" },
                { value: "true", label: "revoked" },
              ]}
            />
          </>
        }
        empty={
          <Empty title="No keys yet" action={creation.first}>
            What measures usage takes one for the role ingest.
          </Empty>
        }
        {...(can_write && { acts })}
      />
      <Addresses />
      {creation.is_open && <NewKey onMade={setShown} onClose={creation.close} />}
      {open?.kind === "rotate" && (
        <FormDialog
          title={`New secret for ${open.of.name}`}
          onClose={close}
          schema="ApiKeyRotation"
          act="Make a new secret"
          submit={async (values, key) =>
            setShown((await write(rotateApiKey, { ...values, id: open.of.id }, { key })).data)
          }
        >
          {(form) => <NumberField form={form} name="grace_hours" label="Hours for which the old one works" />}
        </FormDialog>
      )}
      {open?.kind === "revoke" && (
        <Confirm
          title="Revoke this key?"
          act="Revoke key"
          name={open.of.name}
          onClose={close}
          run={(key) => write(revokeApiKey, { id: open.of.id }, { key })}
        >
          <p>Programs that use it are refused at once. It cannot be taken back.</p>
        </Confirm>
      )}
      {shown && (
        <SecretOnce title="The key's secret" secret={shown.clientSecret} onClose={() => setShown(undefined)}>
          <p>
            clientId: <code>{shown.clientId}</code>
          </p>
          <p>The clientSecret is shown this once:</p>
        </SecretOnce>
      )}
    </Page>
  );
}

function Addresses() {
  return (
    <Section title="For programs and agents">
      <p>
        The interface is described at <a href="/docs">/docs</a>. Agents connect to{" "}
        <code>{`${location.origin}/api/v1/mcp`}</code> and ask the person for permission.
      </p>
      <CopyButton text={`${location.origin}/api/v1/mcp`} label="Copy the agents' address" />
    </Section>
  );
}

function NewKey({ onMade, onClose }: { onMade: (made: Shown) => void; onClose: () => void }) {
  return (
    <FormDialog
      title="New key"
      onClose={onClose}
      schema="CreateApiKey"
      act="Make key"
      initial={{ role: "ingest", environment: "production" }}
      submit={async (values, key) => onMade((await write(createApiKey, values, { key })).data)}
    >
      {(form) => (
        <>
          <TextField form={form} name="name" label="Name" help={null} />
          <SelectField form={form} name="role" label="For" choices={ROLES} help={null} />
          <SelectField
            form={form}
            name="environment"
            label="Environment"
            help="Of loans; usage is of one."
            choices={[
              { value: "production", label: "production" },
              { value: "staging", label: "staging" },
            ]}
          />
        </>
      )}
    </FormDialog>
  );
}
