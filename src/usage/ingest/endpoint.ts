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

/** The media types that events come in. */
const TYPES = [
  "application/json",
  "application/x-ndjson",
  "application/cloudevents+json",
  "application/cloudevents-batch+json",
] as const;

const HANDLERS: Record<(typeof TYPES)[number], (sending: IngestRequest) => Promise<RecordedUsage>> = {
  async "application/json"(sending) {
    assertStructuredMode(sending.request);
    const { ctx, body } = await readEvents(sending);
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
  async "application/cloudevents+json"(sending) {
    const { ctx, body } = await readEvents(sending);
    return call(ctx, recordCloudEvents, { body, is_batch: false });
  },
  async "application/cloudevents-batch+json"(sending) {
    const { ctx, body } = await readEvents(sending);
    return call(ctx, recordCloudEvents, { body, is_batch: true });
  },
};

const readEvents = ({ deps, ctx, request }: IngestRequest) =>
  withBody({ deps, request, ctx }, () => readJson(request, ctx, { bounds: EVENTS_JSON }));

/** Stores what a request sends, as its media type says. Errors: unsupported_media_type, and the operations'. */
export async function ingestRequest(sending: IngestRequest): Promise<RecordedUsage> {
  return HANDLERS[mediaTypeOf(sending.request, TYPES)](sending);
}

/** A CloudEvent may come with its attributes in headers, which would be lost on us without a word. */
function assertStructuredMode({ headers }: Request): void {
  if (headers.get("ce-specversion") === null) return;
  throw new AppError(
    "unsupported_media_type",
    "Cannot read a CloudEvent in binary mode: send it in structured mode, as application/cloudevents+json",
  );
}
