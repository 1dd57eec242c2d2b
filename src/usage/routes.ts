import { Type } from "@sinclair/typebox";
import { LIMITS } from "../core/limits.ts";
import { answers, attachment, data, dataOf, documentedOnly, ErrorBody } from "../http/responses.ts";
import { InvalidBody } from "../http/errors.ts";
import { endpoint, myRoutes, route, routes } from "../http/route.ts";
import { ingestRequest } from "./ingest/endpoint.ts";
import { exportUsage, MEDIA_TYPES } from "./export/export.ts";
import { createExportLink, followExportLink } from "./export/export_links.ts";
import { NewUsageEvent, RecordedUsage, RecordUsage, UsageCloudEvent, UsageCloudEvents } from "./model.ts";
import { listMetadataKeys, searchUsage } from "./search/service.ts";

const SEARCH = `Without \`aggregate\`: one page of events; \`meta.next_cursor\`, sent back as \`cursor\` with the same search, gives the
next one, however deep, as fast as the first. With \`aggregate\`: exact sums by \`group_by\`, or one row \`total\`; then
\`page\` and \`limit\` do not apply. Groups by time come in their order, others by total_usage, unless sort_by
(\`timestamp\` is by group_key) or sort_order is given.`;

const KEYS = `What the metadata of the newest ${LIMITS.usage_keys_events.toLocaleString("en-US")} events holds, to write filters and groups by: keys, or dot paths down
to ${LIMITS.usage_keys_depth} deep, in how many events each has a value, and its most frequent values. Of arrays the first
${LIMITS.usage_keys_elements} elements are looked at; keys of over ${LIMITS.usage_metadata_key_length} characters are left out.`;

const RECORD = `Up to 1,000 events and 5 MB as one event, an array, {events: […]} or CloudEvents, stored whole or not at all; a 422
names every broken event, /3/usage being the usage of the fourth. NDJSON takes a stream of any length, an event a line,
stored in blocks of up to 1,000: an error then has the \`line\`, and what was \`accepted\` before its block. The answer is
sent when the events are durable.`;

/** What is refused of events sent. The last three only of a stream. */
const RefusedUsage = Type.Object(
  {
    ...InvalidBody.properties,
    line: Type.Optional(
      Type.Integer({ description: "Of a stream: the line that is wrong, or the first that was not stored" }),
    ),
    accepted: Type.Optional(Type.Integer({ description: "Of a stream: events stored before" })),
    duplicates: Type.Optional(
      Type.Integer({ description: "Of a stream: events before that were stored already" }),
    ),
  },
  { title: "UsageError" },
);

/**
 * Four media types, one of them a stream that is stored while it comes in. Not counted towards the caller's request
 * limit: the usage store bounds what may wait.
 */
export const ingestRoutes = routes({ tag: "Usage", admits: ["company", "ingest"], counted: false }, [
  endpoint(
    "POST /usage/events",
    {
      status: 201,
      response: answers({
        201: dataOf(RecordedUsage),
        400: RefusedUsage,
        408: RefusedUsage,
        409: RefusedUsage,
        413: ErrorBody,
        415: ErrorBody,
        422: RefusedUsage,
        503: RefusedUsage,
      }),
      detail: {
        operationId: "record_usage",
        summary: "Record usage events",
        security: [{ bearer: [] }, { apiKey: [] }],
        description: RECORD,
        // Only described: the operations check the body themselves and name every broken event.
        requestBody: {
          required: true,
          content: {
            "application/json": documentedOnly(RecordUsage),
            "application/x-ndjson": documentedOnly(NewUsageEvent),
            "application/cloudevents+json": documentedOnly(UsageCloudEvent),
            "application/cloudevents-batch+json": documentedOnly(UsageCloudEvents),
          },
        },
      },
    },
    (exchange) => data(ingestRequest(exchange)),
  ),
]);

const EXPORT = `All events that a search finds, as one file: \`csv\`, \`ndjson\` or \`parquet\`. CSV and NDJSON come in the search's
order, newest first by default; Parquet is sorted only when sort_by or sort_order is given. An answer that
breaks off is not whole.`;

const EXPORTED = {
  errors: [503] as const,
  sends: attachment,
  responses: {
    200: {
      description: "The file.",
      content: Object.fromEntries(
        Object.values(MEDIA_TYPES).map((media_type) => [media_type, { schema: { type: "string" } }]),
      ),
    },
  },
};

const LINK =
  "For whoever can't send a token, such as a browser. The link is a secret: it asks in your name, for 15 minutes, and ends with your tokens.";

/** Links to exports are made by whoever may search, and followed by whoever has one. */
export const exportLinkRoutes = routes({ tag: "Usage", admits: "open" }, [
  route("GET /usage/exports/:link", followExportLink, {
    summary: "Download an export by its link",
    description: EXPORT,
    ...EXPORTED,
  }),
]);

const SEARCHES = [
  route("POST /usage/export", exportUsage, {
    summary: "Export usage",
    my: "Export my usage",
    description: EXPORT,
    ...EXPORTED,
  }),
  route("POST /usage/exports", createExportLink, {
    summary: "Create an export link",
    my: "Create a link to an export of my usage",
    description: LINK,
  }),
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

export const usageRoutes = routes({ tag: "Usage", admits: "company", keeps_answers: false }, SEARCHES);

/** The same search for client users, narrowed to their client. */
export const myUsageRoutes = myRoutes(SEARCHES, { keeps_answers: false });
