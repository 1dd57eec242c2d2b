import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import {
  type Answer,
  type Endpoint,
  type Failure,
  failureFrom,
  type Input,
  send,
  type Sending,
  urlOf,
} from "./call.ts";

/** What is known of a question: what was answered last, and whether it is being asked again. */
export interface Asked<T> {
  answer: Answer<T> | undefined;
  failure: Failure | undefined;
  is_loading: boolean;
}

interface Entry {
  state: Signal<Asked<unknown>>;
  /** `is_quiet`: nobody is told that it is on its way. */
  ask: (is_quiet?: boolean) => void;
  /** How many components show it. */
  shown: number;
  asking: AbortController | undefined;
  /** When it was answered, by the page's own clock. */
  answered_ms: number;
}

const entries = new Map<string, Entry>();
/** Answers that nothing shows are kept, for Back, up to so many. */
const KEPT = 60;
/** What is older is shown at once, and asked again. */
const FRESH_MS = 5_000;

/** An answer as components use it; `reload` asks again. `is_loading` beside an answer: another one was asked for. */
export type Loaded<T> = Asked<T> & { reload: () => void };

/**
 * The answer to a GET: asked when it is first shown, after every write, and, unseen, each `every_ms` where that is
 * given; null asks nothing. While the next page of a list is asked for, the one before is still the answer.
 */
export function useAnswer<T>(
  to: Endpoint<T>,
  input: Input | null = {},
  { every_ms }: { every_ms?: number } = {},
): Loaded<T> {
  const url = input === null ? null : urlOf(to, input);
  const entry = useMemo(() => (url === null ? undefined : entryOf(to, input ?? {}, url)), [url]);
  useEffect(() => {
    if (entry === undefined || url === null) return undefined;
    // It may have made room for others since it was made.
    entries.set(url, entry);
    entry.shown++;
    if (entry.asking === undefined && performance.now() - entry.answered_ms > FRESH_MS) entry.ask();
    return () => {
      entry.shown--;
      if (entry.shown === 0) leave(entry);
    };
  }, [entry]);
  useEffect(() => {
    if (every_ms === undefined) return undefined;
    const timer = setInterval(() => {
      if (entry?.asking === undefined && !document.hidden) entry?.ask(true);
    }, every_ms);
    return () => clearInterval(timer);
  }, [entry, every_ms]);
  // The type is that of the endpoint which made the entry.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const asked = (entry?.state.value ?? NOTHING) as Asked<T>;
  const before = useRef<{ path: string; answer: Answer<T> }>(undefined);
  const path = url?.split("?")[0] ?? "";
  if (asked.answer !== undefined) before.current = { path, answer: asked.answer };
  // Of another record nothing is shown, not for a moment.
  const answer = asked.answer ?? (before.current?.path === path ? before.current.answer : undefined);
  return { ...asked, answer, reload: () => entry?.ask() };
}

const NOTHING: Asked<unknown> = { answer: undefined, failure: undefined, is_loading: false };

function entryOf(to: Endpoint<unknown>, input: Input, url: string): Entry {
  const known = entries.get(url);
  if (known !== undefined) return known;
  const entry: Entry = {
    state: signal<Asked<unknown>>({ ...NOTHING, is_loading: true }),
    ask: (is_quiet = false) => void ask(entry, { to, input, is_quiet }),
    shown: 0,
    asking: undefined,
    answered_ms: Number.NEGATIVE_INFINITY,
  };
  entries.set(url, entry);
  for (const [key, { shown }] of entries) {
    if (entries.size <= KEPT) break;
    if (shown === 0) entries.delete(key);
  }
  return entry;
}

async function ask(
  entry: Entry,
  { to, input, is_quiet }: { to: Endpoint<unknown>; input: Input; is_quiet: boolean },
): Promise<void> {
  entry.asking?.abort();
  const asking = new AbortController();
  entry.asking = asking;
  if (!is_quiet) entry.state.value = { ...entry.state.value, is_loading: true };
  const settle = (change: Partial<Asked<unknown>>) => {
    if (entry.asking !== asking) return;
    entry.asking = undefined;
    entry.state.value = { ...entry.state.value, ...change, is_loading: false };
  };
  try {
    const answer = await send(to, input, { signal: asking.signal });
    if (entry.asking === asking) entry.answered_ms = performance.now();
    settle({ answer, failure: undefined });
  } catch (error) {
    settle({ failure: failureFrom(error) });
  }
}

/** Nobody waits for it any more; where it is shown again it is asked again, and what went wrong before is over. */
function leave(entry: Entry): void {
  const { answer, failure } = entry.state.value;
  if (entry.asking === undefined && failure === undefined) return;
  entry.asking?.abort();
  entry.asking = undefined;
  entry.answered_ms = Number.NEGATIVE_INFINITY;
  entry.state.value = { answer, failure: undefined, is_loading: answer === undefined };
}

/** How often something was written: what is kept elsewhere is asked again when it changes. */
export const writes = signal(0);

/** Asks everything that is shown again, and forgets the rest: something was written. */
export function refresh(): void {
  writes.value++;
  for (const [key, entry] of entries) {
    if (entry.shown > 0) entry.ask();
    else entries.delete(key);
  }
}

/**
 * Calls an operation that writes, and asks what is shown again; also after a conflict, when somebody else was faster.
 * Errors: Failure.
 */
export async function write<T>(
  to: Endpoint<T>,
  input: Input = {},
  sending: Sending = {},
): Promise<Answer<T>> {
  let answer: Answer<T>;
  try {
    answer = await send(to, input, sending);
  } catch (error) {
    if (failureFrom(error).status === 409) refresh();
    throw error;
  }
  refresh();
  return answer;
}
