import { useState } from "preact/hooks";
import type { Static } from "@sinclair/typebox";
import type { Authorization } from "../../../access/authorizations/model.ts";
import type { BrowserSession } from "../../../access/browser_sessions/model.ts";
import { useAnswer, write } from "../../api/cache.ts";
import { send } from "../../api/call.ts";
import { company, findSession, me } from "../../app/session.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/fields.tsx";
import { Form } from "../../ui/form.tsx";
import { ROLE_NAMES } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { say } from "../../ui/toast.tsx";
import { browserName } from "./browser_name.ts";
import { changePassword, endAuthorization, endSession, listAuthorizations, listSessions } from "./calls.ts";

/** Who is signed in: sessions, password, and agents that act for this user. */
export function AccountPage() {
  return (
    <Page title="My account">
      <Section title="Signed in as">
        <Facts
          of={[
            ["Email", me.value?.email],
            ["Name", me.value?.name],
            ["Role", me.value && ROLE_NAMES[me.value.role]],
            ["Company", company.value.name],
            ["Time zone", company.value.timezone],
          ]}
        />
      </Section>
      <div class="columns">
        <Sessions />
        <Password />
      </div>
      <Agents />
    </Page>
  );
}

function Sessions() {
  const sessions = useAnswer(listSessions, { page: 1, limit: 50 });
  const [ending, setEnding] = useState<Static<typeof BrowserSession>>();
  return (
    <Section title="Browsers" intro="Where you are signed in. One that you don't know should be ended.">
      <Await of={sessions}>
        {(rows) => (
          <Table
            label="Browsers"
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                title: "Browser",
                cell: ({ user_agent, is_current }) => (
                  <>
                    <span title={user_agent ?? ""}>{browserName(user_agent)}</span>{" "}
                    {is_current && <Badge tone="good">this one</Badge>}
                  </>
                ),
              },
              { title: "Used", cell: ({ last_used_at }) => <Time at={last_used_at} /> },
            ]}
            acts={(session) => !session.is_current && <Button onClick={() => setEnding(session)}>End</Button>}
          />
        )}
      </Await>
      {ending && (
        <Confirm
          title="End this session?"
          act="End session"
          onClose={() => setEnding(undefined)}
          run={(key) => write(endSession, { id: ending.id }, { key })}
        >
          <p>That browser is signed out at once.</p>
        </Confirm>
      )}
    </Section>
  );
}

function Password() {
  const [round, setRound] = useState(0);
  return (
    <Section title="Password" intro="A new one ends all of your sessions but this.">
      <Form
        key={round}
        schema="ChangePassword"
        act="Change password"
        submit={async (values, key) => {
          await send(changePassword, values, { key });
          say("Password changed");
          setRound(round + 1);
          await findSession();
        }}
      >
        {(form) => (
          <>
            <TextField
              form={form}
              name="current_password"
              label="Current password"
              type="password"
              autocomplete="current-password"
            />
            <TextField
              form={form}
              name="new_password"
              label="New password"
              type="password"
              autocomplete="new-password"
            />
          </>
        )}
      </Form>
    </Section>
  );
}

function Agents() {
  const authorizations = useAnswer(listAuthorizations, { page: 1, limit: 50 });
  const [ending, setEnding] = useState<Authorization>();
  return (
    <Section title="Connected agents" intro="Programs that you let act for you, and what they may do.">
      <Await of={authorizations}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">
              None. An agent asks for your permission when it connects to the MCP address of this service.
            </p>
          ) : (
            <Table
              label="Connected agents"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Agent",
                  cell: ({ agent_name, redirect_uri }) => (
                    <>
                      {agent_name ?? "unnamed"}
                      <div class="soft">{redirect_uri}</div>
                    </>
                  ),
                },
                { title: "May", cell: ({ scope }) => scope },
                { title: "Since", cell: ({ created_at }) => <Time at={created_at} />, is_minor: true },
              ]}
              acts={(authorization) => <Button onClick={() => setEnding(authorization)}>End</Button>}
            />
          )
        }
      </Await>
      {ending && (
        <Confirm
          title="End this agent's permission?"
          act="End permission"
          onClose={() => setEnding(undefined)}
          run={(key) => write(endAuthorization, { id: ending.id }, { key })}
        >
          <p>{ending.agent_name ?? "The agent"} can no longer act for you, at once.</p>
        </Confirm>
      )}
    </Section>
  );
}
