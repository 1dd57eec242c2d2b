/** One opening of a usage store: numbered from 1, with an id that no other opening has. */
export interface Opening {
  number: number;
  id: string;
}

/** Which usage store it is, and how far it has got: what a database holds it against before it is used. */
export interface StoreFacts {
  store_id: string;
  /** The database that it belongs to; null where none has used it. */
  database_id: string | null;
  /** From the last one that the database is known to have heard of on, oldest first. */
  openings: readonly Opening[];
  /** The number of the last event. */
  last_seq: number;
  /** The highest keys that events are stored under; 0 where there is none. */
  company_id: number;
  subscription_id: number;
}

/** What a usage store that may be used writes down before anything else. */
export interface Admission {
  database_id: string;
  opening: Opening;
  /** The opening that the database knows of; null to forget all before this one. */
  known: Opening | null;
  /** No event gets a number up to this one. */
  seq_floor: number;
}
