import { LIMITS } from "../limits.ts";
import { AppError, type ErrorDetail, fieldName } from "../../core/errors.ts";
import { unavailableError } from "../../store/constraints.ts";
import type { RecordedUsage } from "./model.ts";
import type { AppendResult, UsageStore } from "../../usage_store/port.ts";

/** A line of a stream with its event or its problem. Numbers count from 1. */
interface EventLine {
  number: number;
  value: unknown;
  problem?: AppError;
}

/** The lines of a stream, in blocks. A block with a broken line ends with it. */
export interface EventLines {
  /** The number of the first line of the last block. */
  readonly first_number: number;
  /** The next lines that are not blank; none at the end. */
  nextBlock(): Promise<EventLine[]>;
}

/**
 * Stores a stream block by block, reading the next one when the last is durable. Errors: those of `store` and of the
 * lines, with the broken line or else the first that was not stored, and the counts stored before; a broken line is
 * invalid. Decision 0040.
 */
export async function storeLines(
  lines: EventLines,
  store: (events: unknown[]) => Promise<RecordedUsage>,
): Promise<RecordedUsage> {
  const total = { accepted: 0, duplicates: 0 };
  let block: EventLine[] = [];
  try {
    for (;;) {
      block = [];
      block = await lines.nextBlock();
      if (block.length === 0) return total;
      // A broken line is no event: its block is refused, at an earlier line if one is broken too.
      const events = block.map(({ value, problem }) => (problem === undefined ? value : undefined));
      const { accepted, duplicates } = await store(events);
      total.accepted += accepted;
      total.duplicates += duplicates;
    }
  } catch (error) {
    throw refusalOf(error, lines.first_number, block, total);
  }
}

/** The pause between attempts: a full store has room again after a few commits. */
const PAUSE_MS = 200;

/**
 * Appends a block, retrying for a while when the store is unavailable. The events keep their ids, so that none is
 * stored twice when a commit failed. Errors: those of `append`.
 */
export async function appendWithRetry(
  usage: UsageStore,
  ...block: Parameters<UsageStore["append"]>
): Promise<AppendResult> {
  const give_up = performance.now() + LIMITS.usage_stream_wait_ms;
  for (;;) {
    try {
      return await usage.append(...block);
    } catch (error) {
      const is_transient = error instanceof AppError && error.kind === "unavailable";
      if (!is_transient || performance.now() + PAUSE_MS > give_up) throw error;
    }
    await Bun.sleep(PAUSE_MS);
  }
}

/** The error with the line and the counts stored before; an unknown error stays as it is. */
function refusalOf(error: unknown, first_number: number, block: EventLine[], total: RecordedUsage): unknown {
  const known = error instanceof AppError ? error : unavailableError(error);
  if (known === null) return error;
  const { kind, retry_after_s } = known;
  const stored =
    first_number === 1
      ? "nothing was stored"
      : `stored are the lines before ${first_number}: ${total.accepted} events accepted, ${total.duplicates} duplicates`;
  const wrong = lineError(known, block);
  if (wrong === undefined) {
    const progress = { line: first_number, ...total };
    return new AppError(kind, `${known.message}; ${stored}`, { progress, retry_after_s, cause: error });
  }
  const { line, details, reason } = wrong;
  return new AppError(kind === "conflict" ? kind : "invalid", `line ${line}: ${reason}; ${stored}`, {
    details,
    progress: { line, ...total },
    cause: error,
  });
}

/** The first line that the error names, with its problems as details and as text. */
function lineError({ kind, details = [] }: AppError, block: EventLine[]) {
  if (kind !== "invalid" && kind !== "conflict") return undefined;
  const places = details.map(({ path, message }) => {
    const [, position, rest = ""] = /^\/(\d+)(.*)$/s.exec(path) ?? [];
    return { position: Number(position), path: rest, message };
  });
  const position = Math.min(...places.map((place) => place.position));
  const line = block[position];
  if (line === undefined) return undefined;
  const problems_here =
    line.problem === undefined ? places.filter((p) => p.position === position) : undefined;
  const error_details: ErrorDetail[] =
    problems_here?.map(({ path, message }) => ({ path, message })) ?? detailsOf(line.problem);
  const reason = error_details.map(
    ({ path, message }) => `${path === "" ? "" : `${fieldName(path)} `}${message}`,
  );
  return { line: line.number, details: error_details, reason: reason.join("; ") };
}

function detailsOf(problem: AppError | undefined): ErrorDetail[] {
  return problem?.details ?? [{ path: "", message: problem?.message ?? "" }];
}
