import type {
  AmountSource,
  Factor,
  Matching,
  MetadataKey,
  Summand,
  TextSource,
  UsageUploadDetail,
} from "../../../usage/uploads/model.ts";
import type { Received } from "../../api/call.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Choose, TextInput } from "../../ui/explorer/choose.tsx";

/** How columns are matched while somebody does it: usage is always a sum of products here. */
export interface Draft {
  subscription: TextSource;
  subscription_field: NonNullable<Matching["subscription_field"]>;
  timestamp: TextSource;
  summands: readonly (readonly Factor[])[];
  id: string;
  keys: readonly MetadataKey[];
  objects: string;
}

type Upload = Pick<Received<UsageUploadDetail>, "columns" | "sample" | "matching">;

/** Names that columns often have, the best first. */
const USUAL = {
  subscription: ["external_subscription_id", "subscription_id", "subscription", "customer", "account"],
  timestamp: ["timestamp", "time", "date", "at", "created_at"],
  usage: ["usage", "amount", "units", "quantity", "value"],
  id: ["id", "event_id", "uuid"],
  metadata: ["metadata"],
};

/** What was matched before, else what the names of the columns suggest. */
export function draftOf({ columns, sample, matching }: Upload): Draft {
  if (matching !== null) return readMatching(matching);
  const find = (names: readonly string[]) =>
    names.flatMap((name) => columns.find((column) => column.toLowerCase() === name) ?? [])[0];
  const [first = ""] = columns;
  const subscription = find(USUAL.subscription) ?? first;
  const at = columns.indexOf(subscription);
  const is_wire = subscription === "subscription_id" && sample.every((row) => /^\d+:/.test(row[at] ?? ""));
  return {
    subscription: { column: subscription },
    subscription_field: is_wire ? "subscription_id" : "external_subscription_id",
    timestamp: { column: find(USUAL.timestamp) ?? first },
    summands: [[{ column: find(USUAL.usage) ?? first }]],
    id: find(USUAL.id) ?? "",
    keys: [],
    objects: find(USUAL.metadata) ?? "",
  };
}

const factorsOf = ({ product, ...factor }: Summand): readonly Factor[] => product ?? [factor];

function readMatching(matching: Matching): Draft {
  const { subscription, subscription_field = "external_subscription_id", timestamp, usage } = matching;
  const { sum, ...only } = usage;
  return {
    subscription,
    subscription_field,
    timestamp,
    summands: (sum ?? [only]).map(factorsOf),
    id: matching.id?.column ?? "",
    keys: matching.metadata?.keys ?? [],
    objects: matching.metadata?.column ?? "",
  };
}

/** As the service is told. */
export function matchingOf(draft: Draft): Matching {
  const { subscription, subscription_field, timestamp, id, keys, objects } = draft;
  const parts = draft.summands.map((factors): Summand => {
    const [only = {}] = factors;
    return factors.length === 1 ? only : { product: [...factors] };
  });
  const [only = {}] = parts;
  const usage: AmountSource = parts.length === 1 ? only : { sum: parts };
  return {
    subscription,
    ...(subscription_field === "subscription_id" && { subscription_field }),
    timestamp,
    usage,
    ...(id !== "" && { id: { column: id } }),
    ...(keys.length > 0
      ? { metadata: { keys: [...keys] } }
      : objects !== "" && { metadata: { column: objects } }),
  };
}

interface MatchProps {
  columns: readonly string[];
  draft: Draft;
  set: (draft: Draft) => void;
}

/** Where each part of an event comes from. */
export function MatchColumns({ columns, draft, set }: MatchProps) {
  const change = (changes: Partial<Draft>) => set({ ...draft, ...changes });
  return (
    <div class="form">
      <fieldset class="group">
        <legend>Subscription</legend>
        <div class="inline-form">
          <Source
            label="Subscription from"
            other="The same for all rows"
            columns={columns}
            of={draft.subscription}
            set={(subscription) => change({ subscription })}
          />
          <Choose
            label="Its values are"
            value={draft.subscription_field}
            choices={[
              { value: "external_subscription_id", label: "External ids" },
              { value: "subscription_id", label: "Company and external id: 7:acme" },
            ]}
            onChoose={(subscription_field) => change({ subscription_field })}
          />
        </div>
      </fieldset>
      <fieldset class="group">
        <legend>Time</legend>
        <div class="inline-form">
          <Source
            label="Time from"
            other="The same for all rows"
            columns={columns}
            of={draft.timestamp}
            set={(timestamp) => change({ timestamp })}
          />
        </div>
        <p class="soft">Unix milliseconds or a date-time, which is UTC when it has no offset.</p>
      </fieldset>
      <Usage columns={columns} summands={draft.summands} set={(summands) => change({ summands })} />
      <fieldset class="group">
        <legend>Id</legend>
        <div class="inline-form">
          <ColumnChoice
            label="Id from"
            none="None: by the file's content and the row's number"
            columns={columns}
            value={draft.id}
            onChoose={(id) => change({ id })}
          />
        </div>
      </fieldset>
      <Metadata {...{ columns, draft, change }} />
    </div>
  );
}

function Usage(props: {
  columns: readonly string[];
  summands: Draft["summands"];
  set: (summands: Draft["summands"]) => void;
}) {
  const { columns, summands, set } = props;
  const first: Factor = { column: columns[0] ?? "" };
  const setFactors = (at: number, factors: readonly Factor[]) =>
    set(summands.flatMap((one, i) => (i !== at ? [one] : factors.length === 0 ? [] : [factors])));
  return (
    <fieldset class="group">
      <legend>Usage</legend>
      {summands.map((factors, s) => (
        // Their places are what they are known by.
        <div key={s} class="inline-form">
          {factors.map((factor, f) => (
            <>
              <Source
                label={nameOf(s, f)}
                other="A number"
                columns={columns}
                of={factor}
                set={(changed) =>
                  setFactors(
                    s,
                    factors.map((one, i) => (i === f ? changed : one)),
                  )
                }
              />
              {(summands.length > 1 || factors.length > 1) && (
                <IconButton
                  icon="trash"
                  label={`Remove ${nameOf(s, f)}`}
                  onClick={() =>
                    setFactors(
                      s,
                      factors.filter((_, i) => i !== f),
                    )
                  }
                />
              )}
            </>
          ))}
          <Button
            kind="quiet"
            disabled={factors.length >= MOST_FACTORS}
            onClick={() => setFactors(s, [...factors, { constant: "1" }])}
          >
            Multiply{summands.length > 1 ? ` ${s + 1}` : ""}
          </Button>
        </div>
      ))}
      <Button
        kind="quiet"
        icon="plus"
        disabled={summands.length >= MOST_SUMMANDS}
        onClick={() => set([...summands, [first]])}
      >
        Add to it
      </Button>
    </fieldset>
  );
}

// The service says the same of more.
const MOST_FACTORS = 4;
const MOST_SUMMANDS = 10;

const nameOf = (summand: number, factor: number): string =>
  `${summand === 0 ? "Usage from" : `Plus ${summand + 1}`}${factor === 0 ? "" : `, times ${factor}`}`;

function Metadata(props: {
  columns: readonly string[];
  draft: Draft;
  change: (changes: Partial<Draft>) => void;
}) {
  const { columns, draft, change } = props;
  const { keys, objects } = draft;
  const setKey = (at: number, key: MetadataKey) =>
    change({ keys: keys.map((one, i) => (i === at ? key : one)) });
  const [first = ""] = columns;
  return (
    <fieldset class="group">
      <legend>Metadata</legend>
      {keys.length === 0 && (
        <div class="inline-form">
          <ColumnChoice
            label="Metadata from"
            none="None"
            columns={columns}
            value={objects}
            onChoose={(column) => change({ objects: column })}
          />
        </div>
      )}
      {keys.map((key, i) => (
        <div key={i} class="inline-form">
          <TextInput
            label={`Key ${i + 1}`}
            value={key.key}
            onType={(name) => setKey(i, { ...key, key: name })}
          />
          <Source
            label={`Value ${i + 1} from`}
            other="The same for all rows"
            columns={columns}
            of={key}
            set={(source) => setKey(i, { key: key.key, ...(key.as && { as: key.as }), ...source })}
          />
          <label class="check-line">
            <input
              type="checkbox"
              checked={key.as === "number"}
              onChange={({ currentTarget }) =>
                setKey(i, { ...key, as: currentTarget.checked ? "number" : "text" })
              }
            />
            Numbers
          </label>
          <IconButton
            icon="trash"
            label={`Remove key ${i + 1}`}
            onClick={() => change({ keys: keys.filter((_, at) => at !== i) })}
          />
        </div>
      ))}
      <Button
        kind="quiet"
        icon="plus"
        onClick={() => change({ keys: [...keys, { key: first, column: first }] })}
      >
        Add key
      </Button>
    </fieldset>
  );
}

/** A column, or a value of one's own. */
function Source(props: {
  label: string;
  /** What stands for a value of one's own. */
  other: string;
  columns: readonly string[];
  of: TextSource;
  set: (of: TextSource) => void;
}) {
  const { label, other, columns, of, set } = props;
  const CONSTANT = "";
  return (
    <>
      <Choose
        label={label}
        value={of.column ?? CONSTANT}
        choices={[
          ...columns.map((column) => ({ value: column, label: column })),
          { value: CONSTANT, label: other },
        ]}
        onChoose={(column) => set(column === CONSTANT ? { constant: of.constant ?? "" } : { column })}
      />
      {of.column === undefined && (
        <TextInput
          label={`${label}: value`}
          value={of.constant ?? ""}
          onType={(constant) => set({ constant })}
        />
      )}
    </>
  );
}

function ColumnChoice(props: {
  label: string;
  none: string;
  columns: readonly string[];
  value: string;
  onChoose: (column: string) => void;
}) {
  const { label, none, columns, value, onChoose } = props;
  const choices = [
    { value: "", label: none },
    ...columns.map((column) => ({ value: column, label: column })),
  ];
  return <Choose label={label} value={value} choices={choices} onChoose={onChoose} />;
}
