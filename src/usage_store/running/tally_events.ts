import { parseMetadata } from "../metadata.ts";
import { type MetadataObject, MeterReader } from "../meter_reader.ts";
import { MemberSet } from "./member_set.ts";
import type { NumberedEvent, TallyQuery, TallyRow, TallyWindow } from "./totals_source.ts";
import { addValue, Tally } from "./tally.ts";
import { MAX_GROUPS } from "./window_totals.ts";

/** Tallies windows by events that are given one by one, in no order: what `TotalsSource.tally` answers. */
export class Tallying {
  readonly #windows: readonly TalliedWindow[];
  readonly #by_subscription: Map<number, TalliedWindow[]>;

  constructor({ uses, windows }: TallyQuery) {
    this.#windows = windows.flatMap((window, position) => {
      const use = uses[window.use];
      if (use === undefined) return [];
      const per = "keys" in use.parts ? (use.parts.keys[0] ?? null) : null;
      const { meter } = use;
      return [{ ...window, position, meter, reader: new MeterReader(meter, per), groups: new Map() }];
    });
    this.#by_subscription = Map.groupBy(this.#windows, ({ subscription_id }) => subscription_id);
  }

  add(event: NumberedEvent): void {
    let object: MetadataObject | undefined;
    for (const window of this.#by_subscription.get(event.subscription_id) ?? []) {
      if (event.seq <= window.after_seq) continue;
      if (event.timestamp < window.start_ms || event.timestamp >= window.end_ms) continue;
      object ??= event.metadata === null ? {} : parseMetadata(event.metadata);
      if (window.reader.passes(object)) addTo(window, event, object);
    }
  }

  rows(): TallyRow[] {
    return this.#windows.flatMap(({ position, groups }) =>
      [...groups].flatMap(
        ([
          group,
          {
            tally: { value, more },
            texts,
          },
        ]): TallyRow[] => {
          const row = { window: position, group, value, more: more instanceof MemberSet ? null : more };
          return texts.size === 0
            ? [{ ...row, text: null }]
            : Array.from(texts, (text): TallyRow => ({ ...row, text }));
        },
      ),
    );
  }
}

interface Group {
  tally: Tally;
  /** Those that `unique` counts. */
  texts: Set<string>;
}

interface TalliedWindow extends TallyWindow {
  position: number;
  meter: TallyQuery["uses"][number]["meter"];
  reader: MeterReader;
  groups: Map<string | null, Group>;
}

function addTo(
  { meter, reader, groups, start_ms }: TalliedWindow,
  event: NumberedEvent,
  object: MetadataObject,
): void {
  const text = reader.textOf(object);
  const value = meter.aggregation === "unique" ? null : reader.valueOf(event.usage, object);
  if (text === null && value === null) return;
  const name = reader.groupOf(object);
  let group = groups.get(name);
  if (group === undefined) {
    // One more than are kept, so that it is known that there are.
    if (groups.size > MAX_GROUPS) return;
    group = { tally: new Tally(), texts: new Set() };
    groups.set(name, group);
  }
  if (value !== null) addValue(group.tally, meter.aggregation, value, event, start_ms);
  else if (text !== null) group.texts.add(text);
}
