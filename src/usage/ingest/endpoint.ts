import type { Context } from "../../app/context.ts";
import type { Deps } from "../../app/deps.ts";
import { call } from "../../app/operation.ts";
import { LIMITS } from "../../core/limits.ts";
import { AppError } from "../../core/errors.ts";
import { mediaTypeOf, readJson } from "../../http/body.ts";
import { EVENTS_JSON } from "../../http/json.ts";
import { JsonLines } from "../../http/json_lines.ts";
import { renew, withBody } from "../../http/authentication.ts";
import { recordCloudEvents, recordUsage, recordUsageStream } from "./service.ts";
import type { RecordedUsage } from "../model.ts";

/** A request that sends events, its body not yet read. */
interface Sending {
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

const DOORS: Record<(typeof TYPES)[number], (sending: Sending) => Promise<RecordedUsage>> = {
  async "application/json"(sending) {
    refuseBinaryMode(sending.request);
    const { ctx, body } = await readEvents(sending);
    return call(ctx, recordUsage, body);
  },
  async "application/x-ndjson"({ deps, ctx, request }) {
    refuseBinaryMode(request);
    const lines = new JsonLines(request, ctx, LIMITS.usage_batch);
    try {
      return await call(ctx, recordUsageStream, { lines, renew: () => renew(deps, request, ctx) });
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

const readEvents = ({ deps, ctx, request }: Sending) =>
  withBody({ deps, request, ctx }, () => readJson(request, ctx, { bounds: EVENTS_JSON }));

/** Stores what a request sends, as its media type says. Errors: unsupported_media_type, and the operations'. */
export async function recordSent(sending: Sending): Promise<RecordedUsage> {
  return DOORS[mediaTypeOf(sending.request, TYPES)](sending);
}

/** A CloudEvent may come with its attributes in headers, which would be lost on us without a word. */
function refuseBinaryMode({ headers }: Request): void {
  if (headers.get("ce-specversion") === null) return;
  throw new AppError(
    "unsupported_media_type",
    "Cannot read a CloudEvent in binary mode: send it in structured mode, as application/cloudevents+json",
  );
}
