import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import type { Queries } from "./store.ts";
import type { Tables } from "./tables.ts";

/** A transaction's handle on a connection, and the switch that ends it. */
export interface Handle {
  q: Queries;
  end(): void;
}

/** Wraps a connection so that it answers only while its transaction runs: a leaked handle throws. */
export function openHandle(connection: PgDatabase<PgQueryResultHKT>, tables: Tables): Handle {
  let open = true;
  const q = new Proxy(connection, {
    get(target, name) {
      if (!open) throw new Error("Cannot query: this transaction is over");
      if (name === "tables") return tables;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  }) as unknown as Queries;
  return {
    q,
    end: () => {
      open = false;
    },
  };
}
