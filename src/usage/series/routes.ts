import { myRoutes, route, routes } from "../../http/route.ts";
import { LIMITS } from "../limits.ts";
import { SeriesFrame } from "./model.ts";
import { streamUsageSeries, getUsageSeries, listUsageValues } from "./service.ts";

const SERIES = `A measure of usage in the buckets of a range: minutes to months in the company's time zone, which cover the range
without gaps. With \`group_by\` the groups with the most (\`smallest\`: with the least) are named, and all others are one
line, exact too. \`billing_model\` is the one that a subscription has now. \`compare\` answers the same groups in the range
before or a year ago, bucket by bucket: whole months are moved by months, whole days by days. The question ends when its
request is aborted.

With \`Accept: application/x-ndjson\` the answer comes as lines, each like the whole answer and exact for what has been
read so far: events from \`read_from\` on, about ${LIMITS.usage_series_slice.toLocaleString("en-US")} more a line, the newest first; buckets before have null. The last line
(\`is_last\`) is the whole answer, with \`compare\`.`;

const VALUES = `The values of a metadata key, or clients, products, subscriptions or billing models, that events in a range have: the most
frequent first, each with its number of events and their sum. \`search\` is a part of the value or name, as typed so far.`;

const QUESTIONS = [
  route("POST /usage/series", getUsageSeries, {
    summary: "Answer usage over time",
    my: "Answer my usage over time",
    description: SERIES,
    errors: [404, 503],
    bare: true,
    lines: { operation: streamUsageSeries, line: SeriesFrame },
  }),
  route("POST /usage/values", listUsageValues, {
    summary: "List the values of a field",
    my: "List the values of a field of my usage",
    description: VALUES,
    errors: [404, 503],
    bare: true,
  }),
];

export const usageSeriesRoutes = routes({ tag: "Usage", admits: "company", keeps_answers: false }, QUESTIONS);

/** The same questions for client users, narrowed to their client. */
export const myUsageSeriesRoutes = myRoutes(QUESTIONS, { keeps_answers: false });
