import { useState } from "preact/hooks";
import type { UsageErasure } from "../../../usage/erasures/model.ts";
import type { UsageAggregation } from "../../../usage/search/model.ts";
import { write } from "../../api/cache.ts";
import { find, list, post, type Received, send } from "../../api/call.ts";
import { company } from "../../app/session.ts";
import { isolated } from "../../text/isolated.ts";
import { count, number } from "../../text/number.ts";
import { dateTime } from "../../text/time.ts";
import { Confirm, useSubmit } from "../../ui/dialog.tsx";
import { ErasuresOf, LookFirst } from "../../ui/erasures.tsx";
import { TextInput } from "../../ui/explorer/choose.tsx";
import type { Column } from "../../ui/table.tsx";
import { say } from "../../ui/toast.tsx";
import { UsageTabs } from "./tabs.tsx";

type Erasure = Received<UsageErasure>;

const listErasures = list<typeof UsageErasure>("/usage/erasures");
const eraseUsage = post<typeof UsageErasure>("/usage/erasures");
const sumEvents = find<typeof UsageAggregation>("/usage/search");

const columns: Column<Erasure>[] = [
  { title: "Events with", cell: (erasure) => conditionsOf(erasure) },
  { title: "Erased", is_figure: true, cell: ({ erased }) => number(erased) },
];

/** What an erasure went by; never the values. */
function conditionsOf(of: Erasure): string {
  const { subscription_ids, metadata_keys, ids, start_time, end_time, kept_keys } = of;
  return [
    subscription_ids && count(subscription_ids.length, "subscription"),
    metadata_keys && `a value of ${metadata_keys.join(", ")}`,
    ids !== null && count(ids, "id"),
    start_time !== null && `a time from ${dateTime(start_time)}`,
    end_time !== null && `a time before ${dateTime(end_time)}`,
    kept_keys && `kept for meters: ${kept_keys.join(", ")}`,
  ]
    .filter((part) => typeof part === "string")
    .join("; ");
}

/** Erasures of what events say of themselves. */
export function ErasuresPage() {
  return (
    <ErasuresOf
      title="Erasures"
      intro="Events lose their metadata, for good. Their ids, times and usage stay, and so do bills."
      act="Erase metadata"
      tabs={<UsageTabs at="/usage/erasures" />}
      from={listErasures}
      columns={columns}
      why="For when metadata must not be kept: a person asks for it, or it should never have been sent."
      Erasing={Erasing}
    />
  );
}

const NOTHING = { subscription: "", key: "", value: "" };

function Erasing({ onClose }: { onClose: () => void }) {
  const [asked, setAsked] = useState(NOTHING);
  const [found, setFound] = useState<number>();
  const change = (changes: Partial<typeof NOTHING>) => setAsked({ ...asked, ...changes });
  const { subscription, key, value } = asked;
  const body = {
    ...(subscription !== "" && { external_subscription_ids: [subscription] }),
    ...(key !== "" && { metadata: { [key]: value } }),
  };
  const look = useSubmit(async () => {
    const { data } = await send(sumEvents, { ...body, aggregate: true });
    setFound(data[0]?.event_count ?? 0);
  });
  if (found !== undefined)
    return (
      <Confirm
        title={`Erase the metadata of ${count(found, "event")}?`}
        act={`Erase metadata of ${count(found, "event")}`}
        name={company.value.name}
        onClose={onClose}
        run={async (submission) => {
          await write(eraseUsage, body, { key: submission });
          say("Erasing: the list shows when it is done");
        }}
      >
        <p>
          {[
            subscription !== "" && `Of the subscription ${isolated(subscription)}.`,
            key !== "" && `With ${isolated(key)}: ${isolated(value)}.`,
          ]
            .filter((part) => part !== false)
            .join(" ")}{" "}
          It can't be undone, and events that match and come until it is carried out are erased too. What
          meters read stays.
        </p>
      </Confirm>
    );
  return (
    <LookFirst
      title="Erase metadata"
      leave="Erase nothing"
      look={look}
      is_asked={subscription !== "" || key !== ""}
      onClose={onClose}
    >
      <p class="soft">Of the events that meet every condition. At least one is needed.</p>
      <TextInput
        label="Subscription's external id"
        value={subscription}
        onType={(text) => change({ subscription: text.trim() })}
      />
      <TextInput label="Metadata key" value={key} onType={(text) => change({ key: text.trim() })} />
      <TextInput label="Its value" value={value} onType={(text) => change({ value: text })} />
    </LookFirst>
  );
}
