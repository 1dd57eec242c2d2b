import { useAnswer } from "../api/cache.ts";
import { type Endpoint, get, type Input } from "../api/call.ts";
import type { MandateDetail } from "../../emandate/mandates/model.ts";
import { mayFollow, RecordLink } from "./record_link.tsx";
import { BILLING_MODELS, CLIENTS, METERS, SUBSCRIPTIONS } from "./sources.ts";

interface Named<T> {
  one: Endpoint<T>;
  nameOf: (record: T) => string;
}

/** The debtor is what a mandate is known by. */
export const MANDATES = {
  one: get<typeof MandateDetail>("/emandate/mandates/:id"),
  nameOf: ({ customer }: { customer: { name: string } }) => customer.name,
};

const link =
  <T,>(kind: string, { one, nameOf }: Named<T>) =>
  ({ id }: { id: number }) => {
    const input: Input | null = mayFollow(kind, id) ? { id } : null;
    const { answer } = useAnswer(one, input);
    return (
      <RecordLink kind={kind} id={id}>
        {answer === undefined ? `#${id}` : nameOf(answer.data)}
      </RecordLink>
    );
  };

// Records by their names, where an answer has their ids alone: the number until the name is known, or where it is not.

export const ClientLink = link("client", CLIENTS);
export const SubscriptionLink = link("subscription", SUBSCRIPTIONS);
export const BillingModelLink = link("billing_model", BILLING_MODELS);
export const MeterLink = link("meter", METERS);
export const MandateLink = link("mandate", MANDATES);
