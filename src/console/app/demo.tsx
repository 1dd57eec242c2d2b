import { useState } from "preact/hooks";
import { type Failure, failureFrom } from "../api/call.ts";
import type { DemoAccount } from "../server/demo_accounts.ts";
import { Button } from "../ui/button.tsx";
import { Menu, MenuItem } from "../ui/menu.tsx";
import { FailureNotice } from "../ui/states.tsx";
import { attempt } from "../ui/toast.tsx";
import { me, signIn } from "./session.ts";

/** As whom one may sign in by a button: the documents of the demo say so, no others. */
const ACCOUNTS: readonly DemoAccount[] = JSON.parse(
  document.querySelector<HTMLMetaElement>('meta[name="demo"]')?.content ?? "[]",
);

const WHO: Readonly<Record<DemoAccount["role"], string>> = {
  admin: "Admin",
  manager: "Billing manager",
  analyst: "Analyst",
  loan_officer: "Loan officer",
  client: "A client's user",
};

const become = ({ email, password }: DemoAccount): Promise<void> => signIn({ email, password });

/** A button for each role, in the place of a password. */
export function DemoSignIn() {
  const [failure, setFailure] = useState<Failure>();
  const [is_busy, setBusy] = useState(false);
  if (ACCOUNTS.length === 0) return null;
  const begin = async (account: DemoAccount) => {
    setBusy(true);
    setFailure(undefined);
    await become(account).catch((error: unknown) => setFailure(failureFrom(error)));
    setBusy(false);
  };
  return (
    <section class="card demo-accounts" aria-labelledby="demo">
      <h2 id="demo">This is the demo</h2>
      <p class="soft">The company and its people are made up. Look at it as:</p>
      {ACCOUNTS.map((account) => (
        <Button key={account.email} is_busy={is_busy} onClick={() => void begin(account)}>
          <strong>{WHO[account.role]}</strong> <span class="soft">{account.name}</span>
        </Button>
      ))}
      {failure && <FailureNotice failure={failure} />}
    </section>
  );
}

/** Says on every page that nothing here is real, and lets one be somebody else. */
export function DemoBanner() {
  if (ACCOUNTS.length === 0) return null;
  const others = ACCOUNTS.filter(({ email }) => email !== me.value?.email);
  return (
    <aside class="demo-banner" aria-label="Demo">
      <p>
        <strong>Demo.</strong> All of it is made up, and stays on this machine.
      </p>
      <Menu label="Be somebody else" icon="user" text="Be somebody else">
        {others.map((account) => (
          <MenuItem key={account.email} onSelect={() => attempt(become(account))}>
            {WHO[account.role]}: {account.name}
          </MenuItem>
        ))}
      </Menu>
    </aside>
  );
}
