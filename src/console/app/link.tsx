import { useEffect, useId, useState } from "preact/hooks";
import type { UserLinkHolder } from "../../access/user_links/model.ts";
import type { Nothing } from "../../core/schema.ts";
import type { Static } from "@sinclair/typebox";
import { type Failure, failureFrom, post, send } from "../api/call.ts";
import { TextField } from "../ui/fields.tsx";
import { Form } from "../ui/form.tsx";
import { FailureNotice } from "../ui/states.tsx";
import { BASE } from "./find_page.ts";
import { signIn } from "./session.ts";
import { Alone } from "./sign_in.tsx";
import { isolated } from "../text/isolated.ts";

const readLink = post<typeof UserLinkHolder>("/user-links/read");
const acceptLink = post<typeof Nothing>("/user-links/accept");

/** Whether this address is that of a link by which a user chooses a password. */
export const isLink = location.pathname === `${BASE}/link`;

/** The page of such a link: its token is behind the #, which browsers keep to themselves. */
export function ChoosePassword() {
  const token = location.hash.slice(1);
  const [holder, setHolder] = useState<Static<typeof UserLinkHolder>>();
  const [failure, setFailure] = useState<Failure>();
  const read = () => {
    setFailure(undefined);
    send(readLink, { token }, { is_sign_in: true }).then(
      ({ data }) => setHolder(data),
      (error: unknown) => setFailure(failureFrom(error)),
    );
  };
  useEffect(() => {
    document.title = "Choose a password – Meterhouse";
    read();
  }, []);
  return (
    <Alone title="Choose a password">
      {failure && <FailureNotice failure={failure} {...(failure.status !== 404 && { onRetry: read })} />}
      {holder && <PasswordForm token={token} holder={holder} />}
    </Alone>
  );
}

function PasswordForm({ token, holder }: { token: string; holder: Static<typeof UserLinkHolder> }) {
  const { email, company_id, company_name } = holder;
  const id = useId();
  return (
    <>
      <p>For your account at {isolated(company_name)}. You are signed in with it then.</p>
      <Form
        schema="AcceptUserLink"
        act="Set password and sign in"
        submit={async ({ new_password }) => {
          await send(acceptLink, { token, new_password }, { is_sign_in: true });
          await signIn({ email, company_id, password: new_password });
          location.replace(BASE);
        }}
      >
        {(form) => (
          <>
            <div class="field">
              <label for={id}>Email</label>
              <input id={id} value={email} readOnly autocomplete="username" />
            </div>
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
    </>
  );
}
