import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import type { User } from "../../../access/users/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may, me } from "../../app/session.ts";
import { ClientLink } from "../../ui/named_link.tsx";
import { Button } from "../../ui/button.tsx";
import { ROLE_NAMES } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Await } from "../../ui/states.tsx";
import { Time } from "../../ui/timeline.tsx";
import { AuditEntries } from "./audit_entries.tsx";
import { getUser, listAuditEntries } from "./calls.ts";
import { type UserAct, UserActs } from "./user_acts.tsx";

/** One user: what they may, and what they did. */
export function UserPage({ params }: PageProps) {
  const loaded = useAnswer(getUser, { id: params.id });
  if (loaded.answer !== undefined) return <Shown user={loaded.answer.data} />;
  return (
    <Page title={`User #${params.id ?? ""}`} above={<a href={`${BASE}/settings/users`}>Users</a>}>
      <Await of={loaded}>{() => null}</Await>
    </Page>
  );
}

function Shown({ user }: { user: User }) {
  const [act, setAct] = useState<UserAct>();
  const { route } = useLocation();
  const { id, email, name, role, client_id, created_at } = user;
  const users = `${BASE}/settings/users`;
  return (
    <Page
      title={email}
      above={<a href={users}>Users</a>}
      beside={id === me.value?.id && <Badge tone="busy">you</Badge>}
      actions={
        may("users:write") && (
          <>
            <Button onClick={() => setAct("link")}>Link for a new password</Button>
            <Button onClick={() => setAct("edit")}>Edit</Button>
            <Button onClick={() => setAct("delete")}>Delete</Button>
          </>
        )
      }
    >
      <Section title="User">
        <Facts
          of={[
            ["Name", name],
            ["Role", ROLE_NAMES[role]],
            client_id === null ? undefined : ["Client", <ClientLink id={client_id} />],
            ["Since", <Time at={created_at} />],
          ]}
        />
      </Section>
      {may("audit:read") && <Did id={id} />}
      {act && (
        <UserActs act={act} user={user} onClose={() => setAct(undefined)} onGone={() => route(users, true)} />
      )}
    </Page>
  );
}

function Did({ id }: { id: number }) {
  const query = useQuery();
  const entries = useAnswer(listAuditEntries, { ...query.input([]), user_id: id });
  return (
    <Section title="What this user did">
      <AuditEntries label="What this user did" loaded={entries} query={query} />
    </Section>
  );
}
