import { type ColumnKit, stamps } from "../../store/columns.ts";

export const usageLinkTable = (k: ColumnKit) =>
  k.table("usage_link", {
    id: k.integer("id").primaryKey(),
    /** This database's own name, which the usage store records. */
    database_id: k.text("database_id").notNull(),
    /** Null until a usage store is opened with this database. */
    store_id: k.text("store_id"),
    /** The store's last opening. */
    opening_number: k.integer("opening_number").notNull(),
    opening_id: k.text("opening_id"),
    /** A sequence number up to which the store has events. */
    last_seq: k.integer("last_seq").notNull(),
    /** The machine and folder of its last opening, for messages. */
    place: k.text("place"),
    ...stamps(k),
  });
