import type { DuckDBConnection } from "@duckdb/node-api";
import { AppError, type ErrorDetail } from "../../../core/errors.ts";
import type { FingerprintIndex } from "../index/fingerprints.ts";
import { type AppendRequest, FINGERPRINT, usageOf, WORDS } from "./append_request.ts";
import { ERASED } from "../../metadata.ts";
import { type Candidate, findRows, type StoredRow } from "./stored_rows.ts";

/** The result of deduplicating a request. */
export interface AppendDecision {
  request: AppendRequest;
  /** The positions of the events to store. Empty when the request is refused: whole or not at all. */
  fresh: number[];
  duplicates: number;
  refusal: AppError | undefined;
  /** The decision depends on events of another request of the group, which may still fail to commit. */
  depends_on_batch: boolean;
}

/** An event of a request in the group. */
interface Place {
  request: AppendRequest;
  position: number;
}

/** Decides on the requests of a commit group: each event is new, a duplicate or conflicting. */
export async function decideGroup(
  connection: DuckDBConnection,
  index: FingerprintIndex,
  group: readonly AppendRequest[],
): Promise<AppendDecision[]> {
  const found = group.map((request) => findFingerprints(index, request));
  if (found.every((known) => known === undefined) && areAllNew(group)) return group.map(decideNew);
  const candidates = group.flatMap((request, i) => candidatesOf(request, found[i]));
  const rows = await findRows(connection, candidates);
  const deduplicator = new Deduplicator();
  return group.map((request, i) => deduplicator.decide(request, pickRows(found[i], rows)));
}

/**
 * Whether events that the index does not know are all new. Where this can't be seen at once the answer is no: two
 * events of one id have the same fingerprint, and others may share half of it.
 */
function areAllNew(group: readonly AppendRequest[]): boolean {
  const halves = new Set<number>();
  let count = 0;
  for (const { events, words } of group) {
    count += events.length;
    for (let position = 0; position < events.length; position++) {
      if (events[position]?.only_if_stored !== undefined) return false;
      halves.add(words[position * WORDS + FINGERPRINT + 1] ?? 0);
    }
  }
  return halves.size === count;
}

function decideNew(request: AppendRequest): AppendDecision {
  const fresh: number[] = [];
  for (let position = 0; position < request.events.length; position++) fresh.push(position);
  return { request, fresh, duplicates: 0, refusal: undefined, depends_on_batch: false };
}

/** The sequence numbers with an event's fingerprint, by position; undefined where no event has any, as is usual. */
function findFingerprints(
  index: FingerprintIndex,
  { events, words }: AppendRequest,
): Map<number, readonly number[]> | undefined {
  let found: Map<number, readonly number[]> | undefined;
  for (let position = 0; position < events.length; position++) {
    const at = position * WORDS + FINGERPRINT;
    const seqs = index.find(words[at] ?? 0, words[at + 1] ?? 0);
    if (seqs.length > 0) (found ??= new Map()).set(position, seqs);
  }
  return found;
}

function candidatesOf(
  { company_id, events }: AppendRequest,
  found: ReadonlyMap<number, readonly number[]> | undefined,
): Candidate[] {
  return [...(found ?? [])].flatMap(([position, seqs]) => {
    const event = events[position];
    const timestamp = event?.timestamp_given === true ? event.timestamp : undefined;
    return seqs.map((seq) => ({ company_id, seq, timestamp }));
  });
}

function pickRows(
  found: ReadonlyMap<number, readonly number[]> | undefined,
  rows: ReadonlyMap<number, StoredRow>,
): Map<number, StoredRow[]> {
  const picked = new Map<number, StoredRow[]>();
  for (const [position, seqs] of found ?? []) {
    picked.set(
      position,
      seqs.flatMap((seq) => rows.get(seq) ?? []),
    );
  }
  return picked;
}

/** Decides on requests in their order, each against the stored events and the requests before it. */
class Deduplicator {
  /** The events that the group will store, by company and id. */
  readonly #staged = new Map<number, Map<string, Place>>();

  /** `candidates`: by position, the stored rows whose fingerprint is the event's. */
  decide(request: AppendRequest, candidates: ReadonlyMap<number, readonly StoredRow[]>): AppendDecision {
    const staged = this.#staged.get(request.company_id);
    const fresh = new Map<string, Place>();
    const decision: AppendDecision = {
      request,
      fresh: [],
      duplicates: 0,
      refusal: undefined,
      depends_on_batch: false,
    };
    const conflicts: [position: number, fields: string[]][] = [];
    const refused: ErrorDetail[] = [];
    request.events.forEach(({ id, only_if_stored }, position) => {
      const row = candidates.get(position)?.find((c) => c.id === id && c.company_id === request.company_id);
      const earlier = staged?.get(id);
      const place = earlier ?? fresh.get(id);
      const before = row ?? (place && contentOf(place));
      if (before === undefined) {
        if (only_if_stored !== undefined) {
          refused.push({ path: `/${position}/timestamp`, message: only_if_stored });
          return;
        }
        fresh.set(id, { request, position });
        decision.fresh.push(position);
        return;
      }
      if (row === undefined && earlier !== undefined) decision.depends_on_batch = true;
      const fields = differences(before, { request, position });
      if (fields.length > 0) conflicts.push([position, fields]);
      else decision.duplicates++;
    });
    if (refused.length > 0 || conflicts.length > 0) {
      decision.fresh = [];
      decision.refusal =
        refused.length > 0 ? notStoredError(request, refused) : conflictError(request, conflicts);
    } else if (staged === undefined) {
      this.#staged.set(request.company_id, fresh);
    } else {
      for (const [id, place] of fresh) staged.set(id, place);
    }
    return decision;
  }
}

type Content = Pick<StoredRow, "subscription_id" | "timestamp" | "millionths" | "metadata">;

function contentOf({ request, position }: Place): Content | undefined {
  const event = request.events[position];
  return event && { ...event, millionths: BigInt(usageOf(request, position)) };
}

/** The fields in which a repeat differs from the earlier event. */
function differences(before: Content, place: Place): string[] {
  const repeat = contentOf(place);
  const event = place.request.events[place.position];
  if (repeat === undefined || event === undefined) return [];
  const fields: string[] = [];
  if (repeat.subscription_id !== before.subscription_id) fields.push("subscription");
  if (event.timestamp_given && repeat.timestamp !== before.timestamp) fields.push("timestamp");
  if (repeat.millionths !== before.millionths) fields.push("usage");
  if (repeat.metadata !== before.metadata && before.metadata !== ERASED) fields.push("metadata");
  return fields;
}

function notStoredError(request: AppendRequest, details: ErrorDetail[]): AppError {
  const [count, total] = [details.length, request.events.length];
  return new AppError(
    "invalid",
    `Cannot store these events: ${count} of ${total} may only repeat stored ones, and are new`,
    { details },
  );
}

function conflictError(request: AppendRequest, conflicts: [position: number, fields: string[]][]): AppError {
  const details = conflicts.map(([position, fields]) => ({
    path: `/${position}/id`,
    message: `${request.events[position]?.id} is used already, by an event with other ${fields.join(", ")}`,
  }));
  const [count, total] = [conflicts.length, request.events.length];
  return new AppError(
    "conflict",
    `Cannot store these events: ${count} of ${total} ids are used already by events with other content`,
    { details },
  );
}
