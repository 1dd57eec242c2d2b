import { useEffect, useState } from "preact/hooks";
import { type Failure, failureFrom, send } from "../../api/call.ts";
import { type QueryState, useQuery } from "../query.ts";
import type { ExplorerCalls } from "./calls.ts";
import { addressOf, explored, type Explored } from "./question.ts";

export interface ExploredAddress {
  query: QueryState;
  of: Explored;
  /** Changes what is explored: a step in the history. */
  set: (changes: Partial<Explored>) => void;
  /** Undefined once the address says what is explored; until then a record that it names is looked up. */
  pending: { failure: Failure | undefined } | undefined;
}

/**
 * What is explored, by the address. Other pages lead here by a record's number: `client`, `product`, `billing_model`,
 * `subscription`, with `from` and `to`; such an address becomes one of this page.
 */
export function useAddress(calls: ExplorerCalls): ExploredAddress {
  const query = useQuery();
  const of = explored(query.values);
  const { subscription = query.values.subscription_id } = query.values;
  const [failure, setFailure] = useState<Failure>();
  useEffect(() => {
    if (subscription === undefined) return undefined;
    const asking = new AbortController();
    const look = async () => {
      try {
        const { data } = await send(calls.subscription, { id: subscription }, { signal: asking.signal });
        const key = `${data.company_id}:${data.external_subscription_id}`;
        const filters = [...of.filters, { field: "subscription" as const, op: "is" as const, values: [key] }];
        query.set({ ...addressOf({ ...of, filters }), ...NO_ALIASES }, true);
      } catch (error) {
        if (!asking.signal.aborted) setFailure(failureFrom(error));
      }
    };
    void look();
    return () => asking.abort();
  }, [subscription]);
  return {
    query,
    of,
    // `view` stays: the page says whether it is still what was saved.
    set: (changes) => query.set({ ...addressOf({ ...of, ...changes }), ...NO_ALIASES, cursor: undefined }),
    pending: subscription === undefined ? undefined : { failure },
  };
}

const NO_ALIASES = {
  client: undefined,
  product: undefined,
  billing_model: undefined,
  subscription: undefined,
  subscription_id: undefined,
  from: undefined,
  to: undefined,
};
