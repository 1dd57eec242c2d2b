/** One opening of a usage store: numbered from 1, with an id that no other opening has. */
export interface Opening {
  number: number;
  id: string;
}

/** The identity and extent of a usage store, which a database checks before using it. */
export interface StoreFacts {
  store_id: string;
  /** The database that it belongs to; null before its first use. */
  database_id: string | null;
  /** Those since the last one that the database is known to have recorded, oldest first. */
  openings: readonly Opening[];
  /** The number of the last event. */
  last_seq: number;
  /** The highest keys that events are stored under; those given where none is higher. */
  keysAbove(given: LastKeys): Promise<LastKeys>;
}

/** The highest keys of companies and subscriptions; 0 where there is none. */
export interface LastKeys {
  company_id: number;
  subscription_id: number;
}

/** What an admitted usage store records before anything else. */
export interface Admission {
  database_id: string;
  opening: Opening;
  /** The opening that the database recorded; null to delete all before this one. */
  known: Opening | null;
  /** No event gets a number up to this one. */
  seq_floor: number;
}
