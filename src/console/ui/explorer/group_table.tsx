import type { UsageField, UsageFilter } from "../../../usage/filters/model.ts";
import type { UsageSeries } from "../../../usage/series/model.ts";
import { change, number } from "../../text/number.ts";
import { Length } from "../bars.tsx";
import { Menu, MenuItem } from "../menu.tsx";
import { RecordLink } from "../record_link.tsx";
import { type Column, Table } from "../table.tsx";
import { OTHER_COLOUR, otherName } from "./picture.tsx";
import { type Explored, withFilter } from "./question.ts";
import { fieldName, groupName, MEASURE_NAMES } from "./words.ts";

interface Row {
  key: string;
  keys: readonly (string | null)[];
  names: readonly (string | null)[];
  ids: readonly (number | null)[];
  colour: number;
  value: number | null;
  before: number | null;
  change: number | null;
}

function rowsOf(data: UsageSeries, colours: readonly number[]): Row[] {
  const { groups, other, compare } = data;
  const rows: Row[] = groups.map(({ keys, names, ids, value }, i) => ({
    key: JSON.stringify(keys),
    keys,
    names,
    ids,
    colour: colours[i] ?? 0,
    value,
    before: compare?.groups[i]?.value ?? null,
    change: compare?.groups[i]?.change ?? null,
  }));
  if (other !== null)
    rows.push({
      key: "other",
      keys: [],
      names: [],
      ids: [],
      colour: OTHER_COLOUR,
      value: other.value,
      before: compare?.other?.value ?? null,
      change: compare?.other?.change ?? null,
    });
  return rows;
}

/** A group's value of a field, as a filter. */
const filterFor = (field: UsageField, key: string | null, is_without: boolean): UsageFilter =>
  key === null
    ? { field, op: is_without ? "present" : "missing" }
    : { field, op: is_without ? "is_not" : "is", values: [key] };

/** The groups with their values, and what can be asked next of each. */
export function GroupTable(props: {
  data: UsageSeries;
  of: Explored;
  colours: readonly number[];
  fields: readonly UsageField[];
  set: (changes: Partial<Explored>) => void;
  /** Where events of a question are listed. */
  eventsUrl: (of: Explored) => string;
}) {
  const { data, of, colours } = props;
  const rows = rowsOf(data, colours);
  const largest = Math.max(...rows.map(({ value }) => Math.abs(value ?? 0)), 0);
  const columns: Column<Row>[] = [
    {
      title: of.by.map(fieldName).join(", "),
      cell: (row) => (
        <span class={`key s${row.colour}`}>
          {row.key === "other" ? (
            otherName(data.group_count - data.groups.length)
          ) : (
            <GroupNames {...{ row, of }} />
          )}
        </span>
      ),
    },
    {
      title: "Share",
      is_minor: true,
      cell: ({ value }) => (
        <Length share={largest === 0 ? 0 : Math.abs(value ?? 0) / largest} is_negative={(value ?? 0) < 0} />
      ),
    },
    {
      title: MEASURE_NAMES[of.measure],
      is_figure: true,
      cell: ({ value }) => (value === null ? "–" : number(value)),
    },
    ...(data.compare === null
      ? []
      : [
          {
            title: "Before",
            is_figure: true,
            is_minor: true,
            cell: ({ before }: Row) => (before === null ? "–" : number(before)),
          },
          {
            title: "Change",
            is_figure: true,
            cell: (row: Row) => (row.change === null ? "–" : (change(1 + row.change, 1) ?? "–")),
          },
        ]),
  ];
  return (
    <section class="card group-table" aria-label="Groups">
      <Table
        label="Groups"
        columns={columns}
        rows={rows}
        keyOf={({ key }) => key}
        acts={(row) => row.key !== "other" && <GroupMenu row={row} {...props} />}
      />
    </section>
  );
}

function GroupNames({ row, of }: { row: Row; of: Explored }) {
  return (
    <>
      {of.by.map((field, i) => {
        const name = groupName([row.names[i] ?? null], [field]);
        return (
          <span key={field}>
            {i > 0 && ", "}
            <RecordLink kind={field} id={row.ids[i] ?? null}>
              {name}
            </RecordLink>
          </span>
        );
      })}
    </>
  );
}

const BREAK_DOWNS = 12;

function GroupMenu(props: Parameters<typeof GroupTable>[0] & { row: Row }) {
  const { row, of, fields, set, eventsUrl } = props;
  const name = groupName(row.names, of.by);
  const only = of.by.reduce<Explored>(
    (narrowed, field, i) => withFilter(narrowed, filterFor(field, row.keys[i] ?? null, false)),
    of,
  );
  const [first] = of.by;
  const others = fields.filter((field) => !of.by.includes(field)).slice(0, BREAK_DOWNS);
  return (
    <Menu label={`Acts for ${name}`}>
      <MenuItem onSelect={() => set({ filters: only.filters })}>Only this</MenuItem>
      {of.by.length === 1 && first !== undefined && (
        <MenuItem
          onSelect={() =>
            set({ filters: withFilter(of, filterFor(first, row.keys[0] ?? null, true)).filters })
          }
        >
          Without this
        </MenuItem>
      )}
      <MenuItem href={eventsUrl(only)}>Its events</MenuItem>
      {others.map((field) => (
        <MenuItem key={field} onSelect={() => set({ filters: only.filters, by: [field] })}>
          Break down by {fieldName(field).toLowerCase()}
        </MenuItem>
      ))}
    </Menu>
  );
}
