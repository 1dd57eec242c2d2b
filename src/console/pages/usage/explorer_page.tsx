import { Explorer } from "../../ui/explorer/explorer.tsx";
import { UsageTabs } from "./tabs.tsx";

/** Usage over time, by whatever events say. */
export function ExplorerPage() {
  return <Explorer title="Usage" whose="company" path="/usage" tabs={<UsageTabs at="/usage" />} />;
}

/** The events themselves. */
export function EventsPage() {
  return (
    <Explorer
      title="Usage events"
      whose="company"
      path="/usage"
      shows="events"
      tabs={<UsageTabs at="/usage/events" />}
    />
  );
}

/** The same for a client's users, of their client's usage. */
export function MyExplorerPage() {
  return <Explorer title="Usage" whose="mine" path="/my/usage" tabs={<UsageTabs at="/my/usage" />} />;
}

export function MyEventsPage() {
  return (
    <Explorer
      title="Usage events"
      whose="mine"
      path="/my/usage"
      shows="events"
      tabs={<UsageTabs at="/my/usage/events" />}
    />
  );
}
