import { Type } from "@sinclair/typebox";
import { wrongWords } from "../core/exit_codes.ts";
import { decode } from "../core/validate.ts";
import { LIMITS } from "../usage/limits.ts";
import { type Arguments, type Command, optional } from "./command.ts";
import { FILTER_HELP, FILTER_OPTIONS, filterOf, listOf } from "./usage_filters.ts";
import { postJson, type UsagePlace, withUsagePlace } from "./usage_place.ts";

const ROWS = 50;

export const search: Command = {
  name: "search",
  summary: "Search or sum usage events",
  help: `Usage: bun src/main.ts search usage [OPTIONS]

${FILTER_HELP}
  --group-by GROUP      sums instead of events: subscription, client, product, hour, day, month, metadata:KEY; may be
                        given twice; total is one sum of all
  --limit ROWS          how many events at most (${ROWS})

Prints an event or a sum a line, as JSON. Works beside a running server; with --server as a user or API key
(SERVER_TOKEN), or as the operator.`,
  operands: 1,
  remote: true,
  choices: ["usage"],
  options: {
    ...FILTER_OPTIONS,
    "group-by": { type: "string", multiple: true },
    limit: { type: "string" },
  },
  async run(words) {
    if (words.positionals[0] !== "usage") throw wrongWords("Say `search usage`");
    const filter = filterOf(words);
    const groups = listOf(words, "group-by").filter((group) => group !== "total");
    const rows = rowsOf(words);
    await withUsagePlace(words, async (place) => {
      if (words.values["group-by"] === undefined) return printEvents(place, filter, rows);
      const group_by = groups.length > 0 && { group_by: groups.length === 1 ? groups[0] : groups };
      const { data } = await ask(place, { ...filter, aggregate: true, ...group_by });
      for (const row of data) console.log(JSON.stringify(row));
    });
  },
};

function rowsOf(words: Arguments): number {
  const text = optional(words, "limit") ?? String(ROWS);
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw wrongWords("--limit must be a positive whole number");
}

async function printEvents(place: UsagePlace, filter: object, rows: number): Promise<void> {
  let cursor: string | null = null;
  for (let left = rows; left > 0; ) {
    const limit = Math.min(left, LIMITS.usage_search_limit);
    const { data, meta } = await ask(place, { ...filter, limit, ...(cursor === null ? {} : { cursor }) });
    for (const row of data) console.log(JSON.stringify(row));
    left -= data.length;
    cursor = meta?.next_cursor ?? null;
    if (cursor === null) return;
  }
}

const Found = Type.Object({
  data: Type.Array(Type.Unknown()),
  meta: Type.Optional(Type.Object({ next_cursor: Type.Optional(Type.Union([Type.String(), Type.Null()])) })),
});

async function ask(place: UsagePlace, query: object) {
  const answer = await postJson(place, "/search", query);
  return decode(Found, await answer.json());
}
