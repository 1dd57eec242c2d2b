import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { TextField } from "../ui/fields.tsx";
import { Form } from "../ui/form.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon } from "../ui/icon.tsx";
import { DemoSignIn } from "./demo.tsx";
import { me, signIn, signOut } from "./session.ts";

/** A page without navigation. */
export function Alone(props: { title: string; children: ComponentChildren; below?: ComponentChildren }) {
  const { title, children, below } = props;
  return (
    <main class="alone">
      <div class="brand">
        <Icon name="usage" size={20} /> Meterhouse
      </div>
      <div class="card">
        <h1>{title}</h1>
        {children}
      </div>
      {below}
    </main>
  );
}

/** The page of who is not signed in. */
export function SignIn() {
  useEffect(() => {
    document.title = "Sign in – Meterhouse";
  }, []);
  return (
    <Alone title="Sign in" below={<DemoSignIn />}>
      <SignInForm />
    </Alone>
  );
}

/** Above a page whose session has ended: what was typed there stays. */
export function SignInAgain() {
  return (
    <Dialog title="Sign in again" onClose={() => void signOut()}>
      <p>Your session has ended. What you typed is kept.</p>
      <SignInForm email={me.value?.email ?? ""} />
    </Dialog>
  );
}

function SignInForm({ email = "" }: { email?: string }) {
  return (
    <Form schema="Login" initial={{ email }} act="Sign in" submit={(values) => signIn(values)}>
      {(form) => (
        <>
          <TextField form={form} name="email" label="Email" type="email" autocomplete="username" />
          <TextField
            form={form}
            name="password"
            label="Password"
            type="password"
            autocomplete="current-password"
          />
        </>
      )}
    </Form>
  );
}
