import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Mandate, MandateDetail } from "../../emandate/mandates/model.ts";
import { writes } from "../api/cache.ts";
import { type Endpoint, get, list, send } from "../api/call.ts";
import { mayFollow, RecordLink } from "./record_link.tsx";
import { BILLING_MODELS, CLIENTS, METERS, SUBSCRIPTIONS } from "./sources.ts";

/** The debtor is what a mandate is known by. */
export const MANDATES = {
  from: list<typeof Mandate>("/emandate/mandates"),
  one: get<typeof MandateDetail>("/emandate/mandates/:id"),
  nameOf: ({ customer }: { customer: { name: string } }) => customer.name,
};

interface Named<T extends { id: number }> {
  /** A list that takes `ids`. */
  from: Endpoint<T[]>;
  nameOf: (record: T) => string;
}

/** How many are asked for at once, at most: no list has longer pages. */
const AT_ONCE = 100;
/** Names that are kept, the last ones. */
const KEPT = 1_000;

/** The names of records of one kind, which are asked for together: those of a whole page by one question. */
function namesOf<T extends { id: number }>({ from, nameOf }: Named<T>) {
  const known = signal<ReadonlyMap<number, string>>(new Map());
  /** By the count of writes when they were asked: a later one may have renamed them. */
  const asked = new Map<number, number>();
  const wanted = new Set<number>();
  const ask = async () => {
    const ids = [...wanted].slice(0, AT_ONCE);
    for (const id of ids) wanted.delete(id);
    if (wanted.size > 0) void ask();
    try {
      const { data } = await send(from, { ids: ids.join(","), page: 1, limit: ids.length });
      const found = data.map((record) => [record.id, nameOf(record)] as const);
      const all = [...known.value, ...found];
      for (const [id] of all.slice(0, -KEPT)) asked.delete(id);
      known.value = new Map(all.slice(-KEPT));
    } catch {
      // The numbers stay, and are asked for again where they are shown next.
      for (const id of ids) asked.delete(id);
    }
  };
  return function useName(id: number | undefined): string | undefined {
    const { value: count } = writes;
    useEffect(() => {
      if (id === undefined || asked.get(id) === count) return;
      asked.set(id, count);
      if (wanted.size === 0) queueMicrotask(() => void ask());
      wanted.add(id);
    }, [id, count]);
    return id === undefined ? undefined : known.value.get(id);
  };
}

function link<T extends { id: number }>(kind: string, named: Named<T>) {
  const useName = namesOf(named);
  return ({ id }: { id: number }) => {
    const name = useName(mayFollow(kind, id) ? id : undefined);
    return (
      <RecordLink kind={kind} id={id}>
        {name ?? `#${id}`}
      </RecordLink>
    );
  };
}

// Records by their names, where an answer has their ids alone: the number until the name is known, or where it is not.

export const ClientLink = link("client", CLIENTS);
export const SubscriptionLink = link("subscription", SUBSCRIPTIONS);
export const BillingModelLink = link("billing_model", BILLING_MODELS);
export const MeterLink = link("meter", METERS);
export const MandateLink = link("mandate", MANDATES);
