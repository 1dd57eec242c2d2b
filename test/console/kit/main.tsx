// Every part of the kit on one page, over the real service: what the tests of the kit look at.

import { render } from "preact";
import { LocationProvider } from "preact-iso";
import { useState } from "preact/hooks";
import { WorkChips, follow } from "../../../src/console/app/long_work.tsx";
import { Bounded } from "../../../src/console/app/shown_page.tsx";
import { findSession, me } from "../../../src/console/app/session.ts";
import "../../../src/console/app/theme.ts";
import { Button, LinkButton } from "../../../src/console/ui/button.tsx";
import { Toasts } from "../../../src/console/ui/toast.tsx";
import { Badge, Facts, Page, Section } from "../../../src/console/ui/page.tsx";
import { Timeline } from "../../../src/console/ui/timeline.tsx";
import { Texts } from "./texts.tsx";
import { Forms } from "./forms.tsx";
import { Lists } from "./lists.tsx";
import { Pictures } from "./pictures.tsx";

function Kit() {
  const [fails, setFails] = useState(false);
  if (fails) throw new Error("of this test");
  return (
    <main>
      <WorkChips />
      <Page title="Kit" above={<a href="/console/kit">Above</a>} beside={<Badge tone="busy">running</Badge>}>
        <Section title="Words">
          <p>
            <Badge>plain</Badge> <Badge tone="good">good</Badge> <Badge tone="warn">warn</Badge>{" "}
            <Badge tone="bad">bad</Badge> <Badge tone="busy">busy</Badge>
          </p>
          <Facts of={[["Name", "Value"], ["Nothing", null], undefined]} />
          <Timeline
            label="Happenings"
            of={[
              { key: 1, at: "2026-11-27T06:05:09.000Z", title: "Paid", note: "by debit", tone: "good" },
              { key: 2, at: "2026-11-26T06:05:09.000Z", title: "Failed", tone: "bad" },
              { key: 3, at: "2026-11-25T06:05:09.000Z", title: "Sent" },
            ]}
          />
          <div class="actions">
            <LinkButton href="/docs" icon="external">
              Documentation
            </LinkButton>
            <Button onClick={() => void follow(WORK, look())}>Work</Button>
            <Button onClick={() => setFails(true)}>Break</Button>
          </div>
        </Section>
        <Texts />
        <Pictures />
        <Lists />
        <Forms />
      </Page>
      <Toasts />
    </main>
  );
}

const WORK = { id: "run", title: "Billing run", href: "/console/kit" };
function look() {
  let seen = 0;
  return () => Promise.resolve({ progress: `${++seen} of 3`, is_over: seen > 2 });
}

function App() {
  return me.value ? (
    <LocationProvider scope="/console">
      <Bounded>
        <Kit />
      </Bounded>
    </LocationProvider>
  ) : null;
}

const place = document.getElementById("app");
if (place) render(<App />, place);
await findSession();
