import { useEffect, useState } from "preact/hooks";
import { type Endpoint, type Failure, failureFrom, type Input, send } from "./call.ts";

/** Asks as one types, aborting the last question; the old answer stays until the new one is there. */
export function useAsked<T>(
  to: Endpoint<T>,
  input: Input,
): { data: T | undefined; failure: Failure | undefined; retry: () => void } {
  const [data, setData] = useState<T>();
  const [failure, setFailure] = useState<Failure>();
  const [round, setRound] = useState(0);
  useEffect(() => {
    const asking = new AbortController();
    const ask = async () => {
      try {
        const answer = await send(to, input, { signal: asking.signal });
        setData(answer.data);
        setFailure(undefined);
      } catch (error) {
        if (!asking.signal.aborted) setFailure(failureFrom(error));
      }
    };
    const timer = setTimeout(() => void ask(), 150);
    return () => {
      clearTimeout(timer);
      asking.abort();
    };
  }, [to.path, JSON.stringify(input), round]);
  return { data, failure, retry: () => setRound(round + 1) };
}
