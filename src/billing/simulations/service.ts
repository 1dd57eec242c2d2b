import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import { csv } from "../../core/csv.ts";
import { createDownloadStream, type Download } from "../../core/download.ts";
import { AppError, invalid, notFound, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { pagedList } from "../../core/pagination.ts";
import { ById, Nothing, paged } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { findStoredModels } from "../billing_models/queries.ts";
import { readTried } from "../billing_models/read_tried.ts";
import { LIMITS } from "../limits.ts";
import { existingSubscriptions } from "../runs/billable_queries.ts";
import { lastRecordId } from "./billed_queries.ts";
import {
  CreateSimulation,
  ListSimulationRows,
  ListSimulations,
  type Of,
  Simulation,
  SimulationDetail,
  SimulationRow,
} from "./model.ts";
import * as queries from "./queries.ts";
import { emptyTally, monthsBetween } from "./rules.ts";

/**
 * Starts a simulation: what months that were billed would have come to under another billing model, which may be a draft
 * that is saved nowhere. It goes on in the background. Errors: invalid, conflict when too many go on or are kept.
 * Decision 0248.
 */
export const createSimulation = operation({
  name: "create_simulation",
  permission: "simulations:write",
  input: CreateSimulation,
  output: SimulationDetail,
  run: (ctx, { billing_model, billing_model_id, of = null, from, to }) =>
    transaction(ctx, async (tx) => {
      checkMonths(from, to);
      const tried = await readTried(tx, { billing_model, billing_model_id });
      await checkOf(tx, of, tried.currency);
      await checkRoom(tx);
      return queries.insertSimulation(tx, {
        status: "running",
        billing_model_id: billing_model_id ?? null,
        billing_model: billing_model ?? null,
        draft: tried.draft,
        last_record_id: await lastRecordId(tx),
        of,
        from,
        to,
        currency: tried.currency,
        progress: { subscriptions: await queries.countCandidates(tx, of), done: 0 },
        ...emptyTally(tried.currency),
        spread: null,
        reproduces: null,
        after_id: 0,
        attempts: 0,
        halvings: 0,
        error: null,
        requested_by: ctx.actor.kind === "user" ? ctx.actor.user_id : null,
        finished_at: null,
      });
    }),
});

/** Lists simulations without their months and charges, newest first. */
export const listSimulations = operation({
  name: "list_simulations",
  permission: "revenue:read",
  input: ListSimulations,
  output: paged(Simulation),
  run: (ctx, { page, limit, ...order }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listSimulations(readTx(ctx), order, slice),
    ),
});

/** Finds one simulation, as far as it got. Errors: not_found. */
export const getSimulation = operation({
  name: "get_simulation",
  permission: "revenue:read",
  input: ById,
  output: SimulationDetail,
  run: async (ctx, { id }) => orNotFound(await queries.findSimulation(readTx(ctx), id), "Simulation", id),
});

/** Lists what a simulation makes of each subscription. Errors: not_found. */
export const listSimulationRows = operation({
  name: "list_simulation_rows",
  permission: "revenue:read",
  input: ListSimulationRows,
  output: paged(SimulationRow),
  async run(ctx, { id, page, limit, ...order }) {
    const tx = readTx(ctx);
    orNotFound(await queries.findSimulation(tx, id), "Simulation", id);
    return pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, (slice) =>
      queries.listSimulationRows(tx, { simulation_id: id, ...order }, slice),
    );
  },
});

/** Streams a finished simulation's rows as CSV. Errors: not_found, conflict while it goes on. */
export const exportSimulation = operation({
  name: "export_simulation",
  permission: "revenue:read",
  audited: true,
  target: "simulation",
  input: ById,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { id }) {
    const { status } = orNotFound(await queries.findSimulation(readTx(ctx), id), "Simulation", id);
    if (status !== "finished")
      throw new AppError("conflict", `Cannot export simulation ${id}: it is ${status}`);
    const encoder = new TextEncoder();
    const body = await createDownloadStream(
      async (write, gone) => {
        await write(encoder.encode(csv([COLUMNS])));
        for (let after_id = 0; !gone.aborted; ) {
          const page = { after_id, limit: LIMITS.simulation_write };
          const rows = await queries.listRowsAfter(readTx(ctx), id, page);
          const last = rows.at(-1);
          if (!last) return;
          await write(encoder.encode(csv(rows.map((row) => COLUMNS.map((column) => String(row[column]))))));
          after_id = last.subscription_id;
        }
      },
      {
        idle_ms: SHARED_LIMITS.download_idle_ms,
        bytes_s: SHARED_LIMITS.download_bytes_s,
        onError: (error) =>
          ctx.log.info({ err: error, request_id: ctx.request_id, id }, "simulation's file broke off"),
      },
    );
    return { media_type: "text/csv; charset=utf-8", filename: `simulation-${id}.csv`, body };
  },
});

/** Deletes a simulation; one that goes on stops. Errors: not_found. */
export const deleteSimulation = operation({
  name: "delete_simulation",
  permission: "simulations:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  run: (ctx, { id }) =>
    transaction(ctx, async (tx) => {
      if (!(await queries.markDeleted(tx, id))) throw notFound("Simulation", id);
      return {};
    }),
});

const COLUMNS = [
  "subscription_id",
  "external_subscription_id",
  "periods",
  "billed",
  "simulated",
  "difference",
  "reproduces",
] as const satisfies readonly (keyof SimulationRow)[];

function checkMonths(from: string, to: string): void {
  if (from > to) throw invalid("/to", "must not be before from");
  if (monthsBetween(from, to).length > LIMITS.simulation_months)
    throw invalid("/to", `must be at most ${LIMITS.simulation_months} months from from, both counted`);
}

/** Errors: invalid for ids that name nothing of the company, and a model in another currency. */
async function checkOf(tx: ReadTx, of: Of | null, currency: string): Promise<void> {
  if (of === null) return;
  const { billing_model_id, client_ids, subscription_ids } = of;
  if (Object.keys(of).length !== 1)
    throw invalid("/of", "must have exactly one of billing_model_id, client_ids and subscription_ids");
  if (billing_model_id !== undefined) {
    const model = (await findStoredModels(tx, [billing_model_id])).get(billing_model_id);
    if (!model) throw invalid("/of/billing_model_id", "names no billing model of this company");
    if (model.currency !== currency)
      throw invalid("/of/billing_model_id", `is in ${model.currency}, and what is tried in ${currency}`);
  }
  if (subscription_ids) {
    const known = await existingSubscriptions(tx, subscription_ids);
    refuseUnknown("/of/subscription_ids", "subscription", subscription_ids, known);
  }
  if (client_ids)
    refuseUnknown("/of/client_ids", "client", client_ids, await queries.existingClients(tx, client_ids));
}

function refuseUnknown(path: string, noun: string, ids: readonly number[], known: ReadonlySet<number>): void {
  const unknown = ids.findIndex((id) => !known.has(id));
  if (unknown >= 0) throw invalid(`${path}/${unknown}`, `names no ${noun} of this company`);
}

/** Errors: conflict. */
async function checkRoom(tx: ReadTx): Promise<void> {
  const { all, running } = await queries.countSimulations(tx);
  if (running >= LIMITS.simulations_at_once)
    throw new AppError("conflict", `Cannot start a simulation: ${running} go on; wait for one, or delete it`);
  if (all >= LIMITS.simulations)
    throw new AppError("conflict", `Cannot start a simulation: ${all} are kept; delete some`);
}
