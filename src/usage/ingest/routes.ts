import { Type } from "@sinclair/typebox";
import { answers, data, dataOf, documentedOnly, ErrorBody } from "../../http/responses.ts";
import { InvalidBody } from "../../http/errors.ts";
import { endpoint, routes } from "../../http/route.ts";
import { ingestRequest } from "./endpoint.ts";
import { NewUsageEvent, RecordedUsage, RecordUsage, UsageCloudEvent, UsageCloudEvents } from "./model.ts";

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
export const ingestRoutes = routes(
  { tag: "Usage", admits: ["company", "ingest", "gateway"], counted: false },
  [
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
  ],
);
