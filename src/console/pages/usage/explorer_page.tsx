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
