import type { Permission } from "../core/access.ts";
import type { Config } from "../core/config.ts";
import { deleteInBatches } from "../core/delete_in_batches.ts";
import { Nothing } from "../core/schema.ts";
import type { Tx } from "../store/store.ts";
import { operation } from "./operation.ts";
import { transaction } from "./transaction.ts";

/** Which rows expire, as the queries that delete at most `limit` of them and return how many. */
interface Retention {
  name: string;
  permission: Permission;
  deletions: readonly ((tx: Tx, limit: number, config: Config) => Promise<number>)[];
}

/** Defines an operation that deletes expired rows in batches; a job calls it for each company. */
export function retention({ name, permission, deletions }: Retention) {
  return operation({
    name,
    permission,
    unaudited: true,
    uses_reserve: true,
    input: Nothing,
    output: Nothing,
    async run(ctx) {
      for (const deletion of deletions) {
        await deleteInBatches(ctx.background, (limit) =>
          transaction(ctx, (tx) => deletion(tx, limit, ctx.config)),
        );
      }
      return {};
    },
  });
}
