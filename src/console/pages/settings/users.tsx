import { useState } from "preact/hooks";
import type { User } from "../../../access/users/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import { may, me } from "../../app/session.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { List } from "../../ui/list.tsx";
import { ClientLink } from "../../ui/named_link.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { ROLE_NAMES } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { date } from "../../text/time.ts";
import { listUsers } from "./calls.ts";
import { NewUser, type UserAct, UserActs } from "./user_acts.tsx";

/** The company's users, and those of its clients. */
export function UsersPage() {
  const query = useQuery();
  const creation = useCreation(query, "New user", "users:write");
  const [act, setAct] = useState<{ act: UserAct; user: User }>();
  const users = useAnswer(listUsers, query.input(["search"]));
  const columns: Column<User>[] = [
    {
      title: "Email",
      cell: ({ email, name, id }) => (
        <>
          <a href={`${BASE}/settings/users/${id}`}>{email}</a>{" "}
          {id === me.value?.id && <Badge tone="busy">you</Badge>}
          {name !== null && <div class="soft">{name}</div>}
        </>
      ),
    },
    { title: "Role", cell: ({ role }) => ROLE_NAMES[role] },
    {
      title: "Client",
      cell: ({ client_id }) => (client_id === null ? "–" : <ClientLink id={client_id} />),
      is_minor: true,
    },
    { title: "Since", cell: ({ created_at }) => <Time at={created_at} show={date} />, is_minor: true },
  ];
  const acts = (user: User) => (
    <Menu label={`Acts for ${user.email}`}>
      <MenuItem onSelect={() => setAct({ act: "edit", user })}>Edit</MenuItem>
      <MenuItem onSelect={() => setAct({ act: "link", user })}>Link for a new password</MenuItem>
      <MenuItem onSelect={() => setAct({ act: "delete", user })}>Delete</MenuItem>
    </Menu>
  );
  return (
    <Page
      title="Users"
      intro="Who may sign in, and as what. Client users see their own client alone."
      actions={creation.button}
    >
      <AreaTabs at="/settings/users" />
      <List
        title="All users"
        label="Users"
        loaded={users}
        columns={columns}
        query={query}
        filters={<SearchFilter query={query} name="search" label="Email or name" />}
        empty={<Empty title="No users yet" />}
        {...(may("users:write") && { acts })}
      />
      {creation.is_open && (
        <NewUser
          onClose={creation.close}
          onMade={(user) => {
            creation.close();
            setAct({ act: "invite", user });
          }}
        />
      )}
      {act && <UserActs {...act} onClose={() => setAct(undefined)} />}
    </Page>
  );
}
