import { useEffect, useRef, useState } from "preact/hooks";
import type { SeriesFrame, SeriesQuestion, UsageSeries } from "../../../usage/series/model.ts";
import { type Endpoint, Failure, failureFrom, urlOf } from "../../api/call.ts";
import { askLines } from "../../api/lines.ts";

export interface AskedSeries {
  /** What has been answered so far, to this question or, while `is_old`, to the one before. */
  frame: SeriesFrame | undefined;
  is_old: boolean;
  is_loading: boolean;
  failure: Failure | undefined;
  reload: () => void;
}

/** Last answers by their question, so that Back shows something at once. It is asked again all the same. */
const answers = new Map<string, SeriesFrame>();
const KEPT = 20;

function keep(key: string, frame: SeriesFrame): void {
  answers.delete(key);
  answers.set(key, frame);
  const [oldest] = answers.keys();
  if (answers.size > KEPT && oldest !== undefined) answers.delete(oldest);
}

/** Asks a question frame by frame as it is edited. The one before is aborted; its figures stay until there are new ones. */
export function useSeries(to: Endpoint<UsageSeries>, question: SeriesQuestion): AskedSeries {
  const text = JSON.stringify(question);
  const key = `${to.path} ${text}`;
  const [shown, setShown] = useState<{ key: string; frame: SeriesFrame }>();
  const [failure, setFailure] = useState<Failure>();
  const [is_loading, setLoading] = useState(true);
  const [round, setRound] = useState(0);
  const is_first = useRef(true);
  useEffect(() => {
    const asking = new AbortController();
    const { signal } = asking;
    const known = answers.get(key);
    if (known !== undefined) setShown({ key, frame: known });
    setLoading(true);
    const ask = async () => {
      try {
        let frame: SeriesFrame | undefined;
        for await (frame of askLines<SeriesFrame>(urlOf(to), question, signal)) {
          // What was known is whole: parts of the new answer would show less.
          if (known === undefined || frame.is_last) setShown({ key, frame });
        }
        if (!frame?.is_last) throw new Failure("The answer broke off before its end");
        keep(key, frame);
        setFailure(undefined);
      } catch (error) {
        if (signal.aborted) return;
        setFailure(failureFrom(error));
      }
      if (!signal.aborted) setLoading(false);
    };
    // One edit may follow another at once.
    const timer = setTimeout(() => void ask(), is_first.current ? 0 : PAUSE_MS);
    is_first.current = false;
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [key, round]);
  return {
    frame: shown?.frame,
    is_old: shown?.key !== key,
    is_loading,
    failure,
    reload: () => setRound(round + 1),
  };
}

const PAUSE_MS = 10;
