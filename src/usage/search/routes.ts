import { LIMITS } from "../limits.ts";
import { myRoutes, route, routes } from "../../http/route.ts";
import { listMetadataKeys, searchUsage } from "./service.ts";

const SEARCH = `Without \`aggregate\`: one page of events; \`meta.next_cursor\`, sent back as \`cursor\` with the same search, gives the
next one, however deep, as fast as the first. With \`aggregate\`: exact sums by \`group_by\`, or one row \`total\`; then
\`page\` and \`limit\` do not apply. Groups by time come in their order, others by total_usage, unless sort_by
(\`timestamp\` is by group_key) or sort_order is given.`;

const KEYS = `What the metadata of the newest ${LIMITS.usage_keys_events.toLocaleString("en-US")} events holds, to write filters and groups by: keys, or dot paths down
to ${LIMITS.usage_keys_depth} deep, in how many events each has a value, and its most frequent values. Of arrays the first
${LIMITS.usage_keys_elements} elements are looked at; keys of over ${LIMITS.usage_metadata_key_length} characters are left out.`;

const SEARCHES = [
  route("POST /usage/search", searchUsage, {
    summary: "Search and aggregate usage",
    my: "Search and aggregate my usage",
    description: SEARCH,
    errors: [503],
    bare: true,
  }),
  route("GET /usage/metadata-keys", listMetadataKeys, {
    summary: "List metadata keys",
    my: "List my metadata keys",
    description: KEYS,
    errors: [503],
    bare: true,
  }),
];

export const usageSearchRoutes = routes({ tag: "Usage", admits: "company", keeps_answers: false }, SEARCHES);

/** The same search for client users, narrowed to their client. */
export const myUsageSearchRoutes = myRoutes(SEARCHES, { keeps_answers: false });
