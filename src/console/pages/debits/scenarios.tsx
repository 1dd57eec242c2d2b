import { write } from "../../api/cache.ts";
import { Button } from "../../ui/button.tsx";
import { useSubmit } from "../../ui/dialog.tsx";
import { title, words } from "../../ui/names.ts";
import { Section } from "../../ui/page.tsx";
import { FailureNotice } from "../../ui/states.tsx";
import { say } from "../../ui/toast.tsx";
import { runScenario } from "./calls.ts";

const OF_MANDATES = [
  "mandate_authorized",
  "mandate_activated",
  "mandate_rejected",
  "mandate_cancelled_by_customer",
  "mandate_terminated_by_bank",
  "mandate_expired",
];
const OF_PAYMENTS = [
  "payment_paid",
  "payment_insufficient_funds",
  "payment_account_closed",
  "payment_pending",
  "payment_late_failure",
  "payment_charged_back",
];

/** Plays the bank, in the sandbox. */
export function Scenarios(subject: { mandate_id: number } | { payment_id: number }) {
  const names = "mandate_id" in subject ? OF_MANDATES : OF_PAYMENTS;
  return (
    <Section title="Play the bank" intro="In the sandbox: what the bank would answer.">
      <div class="actions">
        {names.map((name) => (
          <Scenario key={name} name={name} subject={subject} />
        ))}
      </div>
    </Section>
  );
}

function Scenario({ name, subject }: { name: string; subject: object }) {
  const { submit, is_busy, failure } = useSubmit(async (key) => {
    const { data } = await write(runScenario, { name, ...subject }, { key });
    say(`It is ${words(data.status)} now`);
  });
  return (
    <>
      <Button is_busy={is_busy} onClick={() => void submit()}>
        {title(name)}
      </Button>
      {failure && <FailureNotice failure={failure} />}
    </>
  );
}
