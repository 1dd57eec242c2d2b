import type { Json } from "@duckdb/node-api";
import type { Measured } from "../stats.ts";
import type { Dividing } from "./queries.ts";

/** Another engine with the same events, stored as an expert in it would store them. */
export interface Peer {
  readonly version: string;
  /** How its SQL divides to a whole number. */
  readonly dividing: Dividing;
  /** The rows of each statement. */
  query(statements: readonly string[]): Promise<Json[][][]>;
  /** Repeats a query, timed where the engine's own client runs. */
  measure(statements: readonly string[], bounds: { times: number; seconds: number }): Promise<Measured>;
  close(): Promise<void>;
}

/** What a peer is loaded with. */
export interface PeerData {
  /** A CSV file without a header, its columns those of `events`, in the order in which the events came. */
  events: string;
  subscriptions: readonly { id: number; company_id: number; client_id: number; product_id: number }[];
}

/**
 * The columns of `events` in a peer's types. Every peer holds usage as whole millionths: exact, and the
 * quickest to sum in all of them.
 */
export function eventColumns(types: { whole: string; big: string; uuid: string; text: string }) {
  const { whole, big, uuid, text } = types;
  return {
    company_id: whole,
    subscription_id: whole,
    timestamp: big,
    id: uuid,
    usage: big,
    metadata: text,
    created_at: big,
  };
}

/** Columns as a table's definition lists them. */
export function columnList(columns: Readonly<Record<string, string>>): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ");
}

/** Makes the table `subscriptions`, which folds sums by subscription into sums by product. */
export function subscriptionsSql({ subscriptions }: PeerData): string {
  const rows = subscriptions.map(
    ({ id, company_id, client_id, product_id }) => `(${id}, ${company_id}, ${client_id}, ${product_id})`,
  );
  return `INSERT INTO subscriptions VALUES ${rows.join(", ")}`;
}

export const SUBSCRIPTION_COLUMNS = ["id", "company_id", "client_id", "product_id"] as const;
