import type { UsageSeries } from "../../../usage/series/model.ts";
import { failureFrom, send, urlOf } from "../../api/call.ts";
import { copyText } from "../copy.ts";
import { download, save } from "../download.tsx";
import { Menu, MenuItem } from "../menu.tsx";
import { say } from "../toast.tsx";
import type { ExplorerCalls } from "./calls.ts";
import { csvOf } from "./csv.ts";
import { type Explored, exploreUrl, questionOf } from "./question.ts";
import { groupName } from "./words.ts";
import { otherName } from "./picture.tsx";

const EVENT_FORMATS = { csv: "CSV", ndjson: "NDJSON", parquet: "Parquet" } as const;

/** What to do with what is shown: links to it, the same question elsewhere, files. */
export function ShareMenu(props: {
  of: Explored;
  data: UsageSeries | undefined;
  calls: ExplorerCalls;
  path: string;
}) {
  const { of, data, calls, path } = props;
  const linkTo = (explored: Explored) => `${location.origin}${exploreUrl(path, explored)}`;
  return (
    <Menu label="Share" icon="download" text="Share">
      <MenuItem onSelect={() => void copy(linkTo(of), "Link")}>Copy link: the range moves on</MenuItem>
      {data && (
        <MenuItem onSelect={() => void copy(linkTo({ ...of, range: `${data.from}..${data.to}` }), "Link")}>
          Copy link: these very times
        </MenuItem>
      )}
      <MenuItem onSelect={() => void copy(curlOf(of, calls), "Command")}>Copy as curl</MenuItem>
      {data && <MenuItem onSelect={() => saveTable(data, of)}>Table as CSV</MenuItem>}
      {data &&
        Object.entries(EVENT_FORMATS).map(([format, name]) => (
          <MenuItem key={format} onSelect={() => void exportEvents(calls, { of, data, format })}>
            Events as {name}
          </MenuItem>
        ))}
    </Menu>
  );
}

async function copy(text: string, what: string): Promise<void> {
  await copyText(text);
  say(`${what} copied`);
}

function curlOf(of: Explored, { series }: ExplorerCalls): string {
  const body = JSON.stringify(questionOf(of)).replaceAll("'", String.raw`'\''`);
  return `curl ${location.origin}${urlOf(series)} \\
  -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
  -d '${body}'`;
}

/** The groups and their buckets as a file. */
function saveTable(data: UsageSeries, of: Explored): void {
  const { groups, other, total, compare, buckets, group_count } = data;
  const lines = [
    ...groups.map((line, i) => ({
      names: line.names.map((name, at) => groupName([name], of.by.slice(at, at + 1), String)),
      line,
      compared: compare?.groups[i],
    })),
    ...(other === null
      ? []
      : [
          {
            names: of.by.map((_, i) => (i === 0 ? otherName(group_count - groups.length) : "")),
            line: other,
            compared: compare?.other ?? undefined,
          },
        ]),
    { names: of.by.map((_, i) => (i === 0 ? "Total" : "")), line: total, compared: compare?.total },
  ];
  const rows = [
    [
      ...of.by,
      data.measure,
      ...(compare === null ? [] : ["before", "change"]),
      ...buckets.map(({ start }) => start),
    ],
    ...lines.map(({ names, line, compared }) => [
      ...names,
      line.value,
      ...(compare === null ? [] : [compared?.value ?? null, compared?.change ?? null]),
      ...line.values,
    ]),
  ];
  save(new Blob([csvOf(rows)], { type: "text/csv" }), `usage_${data.from.slice(0, 10)}.csv`);
}

/** A search of the events that are counted, between the very times of an answer. */
export function eventSearchOf(of: Explored, { from, to }: Pick<UsageSeries, "from" | "to">) {
  const { filters, min_usage, max_usage } = questionOf(of);
  return { start_time: from, end_time: to, filters, min_usage, max_usage };
}

async function exportEvents(
  calls: ExplorerCalls,
  { of, data, format }: { of: Explored; data: UsageSeries; format: string },
): Promise<void> {
  try {
    const { data: link } = await send(calls.exports, { ...eventSearchOf(of, data), format });
    // Of its address only the path: the service may be reached by another name than its own.
    download(new URL(link.url).pathname);
  } catch (error) {
    say(failureFrom(error).message, "bad");
  }
}
