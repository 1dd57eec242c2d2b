import { AppError, type ErrorDetail } from "../../core/errors.ts";
import { isErasedFrom } from "../erased_metadata.ts";
import { type AppendRequest, FINGERPRINT, usageOf, WORDS } from "./append_request.ts";

/** A stored event, as repeats are compared with it. */
export interface StoredRow {
  company_id: number;
  id: string;
  subscription_id: number;
  timestamp: number;
  millionths: bigint;
  metadata: string | null;
}

/** An event that may be stored: the index has an entry of its fingerprint. */
export interface Candidate {
  company_id: number;
  id: string;
  /** The timestamp of a row with the same content; undefined when it may have any. */
  timestamp: number | undefined;
  /** What the index knows of the row. */
  entry: number;
}

/** Finds the rows of candidates; rows of other ids and companies do no harm. */
export type FindRows = (candidates: readonly Candidate[]) => Promise<readonly StoredRow[]>;

/** What the index knows of the rows that have this fingerprint. */
export interface KnownFingerprints {
  find(high: number, low: number): readonly number[];
}

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

/** Answers a request by its decision: it is stored, or refused. */
export function settle({ request, fresh, duplicates, refusal }: AppendDecision): void {
  if (refusal === undefined) request.resolve({ accepted: fresh.length, duplicates });
  else request.reject(refusal);
}

/** An event of a request in the group. */
interface Place {
  request: AppendRequest;
  position: number;
}

/** Decides on the requests of a commit group: each event is new, a duplicate or conflicting. */
export async function decideGroup(
  group: readonly AppendRequest[],
  index: KnownFingerprints,
  findRows: FindRows,
): Promise<AppendDecision[]> {
  const candidates = group.flatMap((request) => candidatesOf(request, index));
  if (candidates.length === 0 && areAllNew(group)) return group.map(decideNew);
  const deduplicator = new Deduplicator(candidates.length === 0 ? [] : await findRows(candidates));
  return group.map((request) => deduplicator.decide(request));
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

/** The candidates among a request's events: none, as is usual. */
function candidatesOf(
  { company_id, events, words }: AppendRequest,
  index: KnownFingerprints,
): readonly Candidate[] {
  let found: Candidate[] | undefined;
  for (let position = 0; position < events.length; position++) {
    const at = position * WORDS + FINGERPRINT;
    const entries = index.find(words[at] ?? 0, words[at + 1] ?? 0);
    const event = events[position];
    if (entries.length === 0 || event === undefined) continue;
    const { id, timestamp_given } = event;
    const timestamp = timestamp_given ? event.timestamp : undefined;
    for (const entry of entries) (found ??= []).push({ company_id, id, timestamp, entry });
  }
  return found ?? NONE;
}

const NONE: readonly Candidate[] = [];

/** Decides on requests in their order, each against the stored events and the requests before it. */
class Deduplicator {
  /** The events that the group will store, by company and id. */
  readonly #staged = new Map<number, Map<string, Place>>();
  /** By company and id. */
  readonly #stored = new Map<number, Map<string, StoredRow>>();

  /** `rows`: all stored events that have the id and company of one to decide on, and perhaps others. */
  constructor(rows: readonly StoredRow[]) {
    for (const row of rows) {
      const of_company = this.#stored.get(row.company_id) ?? new Map<string, StoredRow>();
      this.#stored.set(row.company_id, of_company.set(row.id, row));
    }
  }

  decide(request: AppendRequest): AppendDecision {
    const stored = this.#stored.get(request.company_id);
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
      const row = stored?.get(id);
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
  if (repeat.metadata !== before.metadata && !isErasedFrom(before.metadata, repeat.metadata))
    fields.push("metadata");
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
