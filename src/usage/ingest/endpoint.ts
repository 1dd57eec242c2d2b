import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { LIMITS } from "../limits.ts";
import { AppError } from "../../core/errors.ts";
import { mediaTypeOf, readJson } from "../../http/body.ts";
import { EVENTS_JSON } from "../../http/json.ts";
import { JsonLines } from "../../http/json_lines.ts";
import { reauthenticate, withBody } from "../../http/authentication.ts";
import { recordCloudEvents, recordUsage, recordUsageStream } from "./service.ts";
import type { RecordedUsage } from "./model.ts";

/** A request that sends events, its body not yet read. */
interface IngestRequest {
  deps: Deps;
  ctx: Context;
  request: Request;
}

/** The accepted media types. */
const TYPES = [
  "application/json",
  "application/x-ndjson",
  "application/cloudevents+json",
  "application/cloudevents-batch+json",
] as const;

const HANDLERS: Record<(typeof TYPES)[number], (ingest: IngestRequest) => Promise<RecordedUsage>> = {
  async "application/json"(ingest) {
    assertStructuredMode(ingest.request);
    const { ctx, body } = await readEvents(ingest);
    return call(ctx, recordUsage, body);
  },
  async "application/x-ndjson"({ deps, ctx, request }) {
    assertStructuredMode(request);
    const lines = new JsonLines(request, ctx, LIMITS.usage_batch);
    try {
      return await call(ctx, recordUsageStream, { lines, renew: () => reauthenticate(deps, request, ctx) });
    } finally {
      lines.close();
    }
  },
  async "application/cloudevents+json"(ingest) {
    const { ctx, body } = await readEvents(ingest);
    return call(ctx, recordCloudEvents, { body, is_batch: false });
  },
  async "application/cloudevents-batch+json"(ingest) {
    const { ctx, body } = await readEvents(ingest);
    return call(ctx, recordCloudEvents, { body, is_batch: true });
  },
};

const readEvents = ({ deps, ctx, request }: IngestRequest) =>
  withBody({ deps, request, ctx }, () => readJson(request, ctx, { bounds: EVENTS_JSON }));

/** Stores the events of a request by its media type. Errors: unsupported_media_type, and the operations'. */
export async function ingestRequest(ingest: IngestRequest): Promise<RecordedUsage> {
  return HANDLERS[mediaTypeOf(ingest.request, TYPES)](ingest);
}

/** Refuses CloudEvents in binary mode, whose headers would be ignored silently. */
function assertStructuredMode({ headers }: Request): void {
  if (headers.get("ce-specversion") === null) return;
  throw new AppError(
    "unsupported_media_type",
    "Cannot read a CloudEvent in binary mode: send it in structured mode, as application/cloudevents+json",
  );
}
