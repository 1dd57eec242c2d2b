import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { may, type Permission } from "../../core/access.ts";
import { FOUND_KINDS, type FoundKind, FoundRecords, SearchAll } from "./model.ts";
import { FINDERS } from "./queries.ts";

/** What a kind takes to be read, and where: under /my too where client users have it. */
const KINDS: Record<FoundKind, { permission: Permission; path: string; is_mine?: true }> = {
  client: { permission: "clients:read", path: "/clients" },
  product: { permission: "products:read", path: "/products" },
  subscription: { permission: "subscriptions:read", path: "/subscriptions", is_mine: true },
  billing_model: { permission: "billing_models:read", path: "/billing-models" },
  billing_record: { permission: "billing:read", path: "/billing-records", is_mine: true },
  user: { permission: "users:read", path: "/users" },
  mandate: { permission: "emandate:read", path: "/emandate/mandates" },
  application: { permission: "lending:read", path: "/lending" },
};

/**
 * Finds a few records of each kind that the caller may read, by name, number, external id, email or reference. A client
 * user finds its own client's subscriptions and bills. Decision 0283.
 */
export const searchAll = operation({
  name: "search_all",
  permission: "profile:read",
  input: SearchAll,
  output: FoundRecords,
  async run(ctx, { q: text }) {
    const tx = readTx(ctx);
    const is_client = tx.scope.client_id !== undefined;
    const kinds = FOUND_KINDS.filter((kind) => {
      const { permission, is_mine = false } = KINDS[kind];
      return may(ctx.actor, permission) && (is_mine || !is_client);
    });
    const found = await Promise.all(
      kinds.map(async (kind) => {
        const rows = await FINDERS[kind](tx, text);
        const base = (is_client ? "/my" : "") + KINDS[kind].path;
        return rows.map(({ below = "", ...row }) => ({ ...row, path: `${base}${below}/${row.id}` }));
      }),
    );
    return { data: found.flat() };
  },
});
