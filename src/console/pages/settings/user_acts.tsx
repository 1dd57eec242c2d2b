import { useState } from "preact/hooks";
import type { Static } from "@sinclair/typebox";
import type { UserLink } from "../../../access/user_links/model.ts";
import type { User } from "../../../access/users/model.ts";
import { write } from "../../api/cache.ts";
import { Confirm, Dialog, SecretOnce } from "../../ui/dialog.tsx";
import { edited, readAnew } from "../../ui/edited.ts";
import { SelectField, TextField } from "../../ui/fields.tsx";
import { Form, type FormState } from "../../ui/form.tsx";
import { ROLE_NAMES } from "../../ui/names.ts";
import { PickField } from "../../ui/picker.tsx";
import { say } from "../../ui/toast.tsx";
import { dateTime } from "../../text/time.ts";
import { CLIENTS } from "../../ui/sources.ts";
import { createUser, createUserLink, deleteUser, getUser, updateUser } from "./calls.ts";

/** `invite` is `link` for a user who was just created. */
export type UserAct = "edit" | "link" | "invite" | "delete";

/** What can be done with a user. `onGone` is called in place of `onClose` once it is deleted. */
export function UserActs(props: { act: UserAct; user: User; onClose: () => void; onGone?: () => void }) {
  const { act, user, onClose, onGone } = props;
  if (act === "edit") return <EditUser user={user} onClose={onClose} />;
  if (act !== "delete") return <LinkOf user={user} is_new={act === "invite"} onClose={onClose} />;
  return (
    <Confirm
      title="Delete this user?"
      act="Delete user"
      name={user.email}
      onClose={onClose}
      onDone={onGone ?? onClose}
      run={async (key) => {
        await write(deleteUser, { id: user.id }, { key });
        say(`${user.email} was deleted`);
      }}
    >
      <p>
        {user.email} can no longer sign in, and what agents may do for this user ends at once. The audit log
        keeps what the user did.
      </p>
    </Confirm>
  );
}

/** A new user, who chooses a password by a link. */
export function NewUser({ onClose, onMade }: { onClose: () => void; onMade: (user: User) => void }) {
  return (
    <Dialog title="New user" onClose={onClose}>
      <Form
        schema="CreateUser"
        act="Add user"
        initial={{ role: "analyst" }}
        onCancel={onClose}
        submit={async (values, key) => {
          const { data } = await write(createUser, ofRole(values), { key });
          onMade(data);
        }}
      >
        {(form) => <UserFields form={form} />}
      </Form>
    </Dialog>
  );
}

/** A client goes with the role of a client's user, and only with it. */
const ofRole = ({ client_id, ...values }: Record<string, unknown>) => ({
  ...values,
  client_id: values.role === "client" ? client_id : null,
});

function EditUser({ user, onClose }: { user: User; onClose: () => void }) {
  return (
    <Dialog title={`Edit ${user.email}`} onClose={onClose}>
      <Form
        schema="UserChange"
        act="Save"
        edited={edited(user, {
          fields: ({ email, name, role, client_id }) => ({ email, name, role, client_id }),
          read: () => readAnew(getUser, { id: user.id }),
          is_replaced: true,
        })}
        onCancel={onClose}
        onDone={() => {
          say("Saved");
          onClose();
        }}
        submit={(values, key, if_match) =>
          write(updateUser, { ...ofRole(values), id: user.id }, { key, if_match })
        }
        effects={(values) =>
          (values.role !== user.role || values.client_id !== user.client_id) && (
            <div class="notice warn" role="status">
              <p>With another role or client, every session and token of this user ends.</p>
            </div>
          )
        }
      >
        {(form) => <UserFields form={form} />}
      </Form>
    </Dialog>
  );
}

function UserFields({ form }: { form: FormState }) {
  return (
    <>
      <TextField form={form} name="email" label="Email" type="email" />
      <TextField form={form} name="name" label="Name" />
      <SelectField
        form={form}
        name="role"
        label="Role"
        choices={Object.entries(ROLE_NAMES).map(([value, label]) => ({ value, label }))}
      />
      {form.values.role === "client" && (
        <PickField form={form} name="client_id" label="Client" source={CLIENTS} />
      )}
    </>
  );
}

/** Makes a link by which a user chooses a password, and shows it once. */
function LinkOf({ user, is_new, onClose }: { user: User; is_new: boolean; onClose: () => void }) {
  const [link, setLink] = useState<Static<typeof UserLink>>();
  if (link)
    return (
      <SecretOnce title={`Link for ${user.email}`} secret={link.url} onClose={onClose}>
        <p>
          Pass it on to {user.email} alone: whoever opens it chooses the password. It works once, until{" "}
          {dateTime(link.expires_at)}.
        </p>
      </SecretOnce>
    );
  return (
    <Confirm
      title={is_new ? `Invite ${user.email}?` : `New password for ${user.email}?`}
      act="Make link"
      kind="primary"
      onClose={onClose}
      onDone={() => undefined}
      run={async (key) => {
        setLink((await write(createUserLink, { id: user.id }, { key })).data);
      }}
    >
      <p>
        {is_new ? "The user is added, and has no password yet." : "The password of now goes on until then."} A
        link lets {user.email} choose one, once and within 72 hours. The service sends no mail: you pass it
        on.
      </p>
    </Confirm>
  );
}
