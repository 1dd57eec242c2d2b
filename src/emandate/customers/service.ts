import { operation } from "../../app/operation.ts";
import { orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, paged } from "../../core/schema.ts";
import { EmandateCustomer, ListEmandateCustomers } from "./model.ts";
import * as queries from "./queries.ts";
import { readTx } from "../../app/transaction.ts";

/** Lists one page of the customers with mandates by id, with their IC numbers masked. */
export const listEmandateCustomers = operation({
  name: "list_emandate_customers",
  permission: "emandate:read",
  input: ListEmandateCustomers,
  output: paged(EmandateCustomer),
  run: (ctx, { page, limit, ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listEmandateCustomers(readTx(ctx), filter, slice),
    ),
});

/** Finds one customer with its whole IC number. Errors: not_found. */
export const getEmandateCustomer = operation({
  name: "get_emandate_customer",
  permission: "emandate:read",
  input: ById,
  output: EmandateCustomer,
  run: async (ctx, { id }) => orNotFound(await queries.findEmandateCustomer(readTx(ctx), id), "Customer", id),
});
