import type { ComponentChildren } from "preact";
import type { Endpoint, Input, Meta } from "../api/call.ts";
import type { Loaded } from "../api/cache.ts";
import type { QueryState } from "./query.ts";
import { money } from "../text/money.ts";
import { number } from "../text/number.ts";
import { Button } from "./button.tsx";
import { CsvButton } from "./download.tsx";
import { Icon } from "./icon.tsx";
import { FailureNotice, Skeleton } from "./states.tsx";

export interface Column<Row> {
  title: string;
  cell: (row: Row) => ComponentChildren;
  /** Figures stand at the right. */
  is_figure?: boolean;
  /** The name that the list sorts by, where it can. */
  sort?: string;
  /** Not shown on narrow screens. */
  is_minor?: boolean;
}

interface TableProps<Row> {
  /** What the rows are, read out. */
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  sort?: { by: string | undefined; set: (by: string) => void };
  /** At the end of each row: its menu or button. */
  acts?: (row: Row) => ComponentChildren;
}

/** Rows as a table; on narrow screens each row is a block with the columns' names. */
export function Table<Row>({ label, columns, rows, keyOf, sort, acts }: TableProps<Row>) {
  return (
    <div class="table-frame">
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.title} column={column} {...(sort && { sort })} />
            ))}
            {acts && (
              <th scope="col" class="acts">
                <span class="unseen">Acts</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, is_figure, is_minor }) => (
                <td key={title} data-title={title} class={classOf(is_figure, is_minor)}>
                  {cell(row)}
                </td>
              ))}
              {acts && <td class="acts">{acts(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const classOf = (is_figure = false, is_minor = false) =>
  `${is_figure ? "figure-cell" : ""}${is_minor ? " minor" : ""}`.trim() || undefined;

function Head<Row>({ column, sort }: { column: Column<Row>; sort?: TableProps<Row>["sort"] }) {
  const { title, is_figure, is_minor } = column;
  const by = column.sort;
  if (sort === undefined || by === undefined)
    return (
      <th scope="col" class={classOf(is_figure, is_minor)}>
        {title}
      </th>
    );
  const is_up = sort.by === by;
  const is_down = sort.by === `-${by}`;
  return (
    <th
      scope="col"
      class={classOf(is_figure, is_minor)}
      aria-sort={is_up ? "ascending" : is_down ? "descending" : "none"}
    >
      <button type="button" class="sort" onClick={() => sort.set(is_up ? `-${by}` : by)}>
        {title}
        {(is_up || is_down) && <Icon name={is_up ? "up" : "down"} size={12} />}
      </button>
    </th>
  );
}

/** How many there are, and the pages of a list: by number, or by cursor where there is no number. */
export function Pager({ meta, query }: { meta: Meta | undefined; query: QueryState }) {
  const { page, total, total_pages = 1, limit = 20, next_cursor } = meta ?? {};
  const { cursor } = query.values;
  if (page === undefined || total === undefined || cursor !== undefined) {
    if (!next_cursor && cursor === undefined) return null;
    return (
      <nav class="pager" aria-label="Pages">
        <Button
          kind="quiet"
          disabled={cursor === undefined}
          onClick={() => query.set({ cursor: undefined, page: undefined })}
        >
          First
        </Button>
        <Button
          kind="quiet"
          icon="right"
          disabled={!next_cursor}
          onClick={() => query.set({ cursor: next_cursor ?? undefined, page: undefined })}
        >
          Next
        </Button>
      </nav>
    );
  }
  const first = (page - 1) * limit + 1;
  // Of a list that was longer once, the last page that there is.
  const before = Math.min(page - 1, total_pages);
  if (total_pages <= 1 && page === 1) return <span class="pager soft">{number(total)} in all</span>;
  return (
    <nav class="pager" aria-label="Pages">
      <span class="soft">
        {first > total ? "None" : `${number(first)}–${number(Math.min(total, page * limit))}`} of{" "}
        {number(total)}
      </span>
      <Button
        kind="quiet"
        icon="left"
        disabled={page <= 1}
        onClick={() => query.set({ page: before > 1 ? String(before) : undefined })}
      >
        Previous
      </Button>
      <Button
        kind="quiet"
        icon="right"
        disabled={page >= total_pages}
        onClick={() => query.set({ page: String(page + 1) })}
      >
        Next
      </Button>
    </nav>
  );
}

/**
 * A list of the service as a table: its filters, page and order are the address's, so that Back and links work. `empty`
 * is shown where there is nothing at all, "none match" where filters leave nothing.
 */
export function ListTable<Row>(props: {
  label: string;
  loaded: Loaded<Row[]>;
  columns: readonly Column<Row>[];
  keyOf: (row: Row) => string | number;
  query: QueryState;
  empty: ComponentChildren;
  /** The list as CSV, where it has it. */
  csv?: { to: Endpoint<Row[]>; input: Input };
  acts?: (row: Row) => ComponentChildren;
}) {
  const { label, loaded, columns, keyOf, query, empty, csv, acts } = props;
  const { answer, failure, is_loading, reload } = loaded;
  const notice = failure && failure.status !== 401 && (
    <FailureNotice failure={failure} onRetry={reload} is_busy={is_loading} />
  );
  if (answer === undefined && notice) return notice;
  if (answer === undefined) return <Skeleton rows={6} />;
  if (answer.data.length === 0 && query.values.page === undefined)
    return query.is_filtered ? <NoneMatch query={query} /> : <>{empty}</>;
  const sorted = query.values.sort;
  return (
    <div class={is_loading ? "dimmed" : undefined} aria-busy={is_loading}>
      {notice}
      <Table
        label={label}
        columns={columns}
        rows={answer.data}
        keyOf={keyOf}
        {...(acts && { acts })}
        sort={{ by: sorted, set: (by) => query.set({ sort: by, page: undefined }) }}
      />
      <div class="table-foot">
        {answer.meta?.sums && <SumsText of={answer.meta.sums} />}
        {csv && <CsvButton {...csv} name={label} />}
        <Pager meta={answer.meta} query={query} />
      </div>
    </div>
  );
}

function SumsText({ of }: { of: NonNullable<Meta["sums"]> }) {
  return (
    <span>
      Sum of all{" "}
      <strong>{of.map(({ currency, amount }) => money(amount, currency)).join(", ") || "nothing"}</strong>
    </span>
  );
}

function NoneMatch({ query }: { query: QueryState }) {
  return (
    <div class="empty">
      <h2>None match</h2>
      <div class="actions">
        <Button onClick={query.clear}>Clear filters</Button>
      </div>
    </div>
  );
}
