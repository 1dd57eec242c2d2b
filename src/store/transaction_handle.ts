import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import type { ColumnKit } from "./columns.ts";
import type { Queries, Run } from "./store.ts";

/** A transaction's handle on a connection, and the switch that ends it. */
export interface Handle {
  q: Queries;
  end(): void;
}

/** Guards a connection against use after its transaction: a leaked handle throws. */
export function openHandle(connection: PgDatabase<PgQueryResultHKT>, { use }: ColumnKit, run: Run): Handle {
  let open = true;
  const q = new Proxy(connection, {
    get(target, name) {
      if (!open) throw new Error("Cannot query: this transaction is over");
      if (name === "use") return use;
      if (name === "run") return run;
      if (name === "reads_at_once") return true;
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
