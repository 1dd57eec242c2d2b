import { and, asc, count, desc, eq, gt, isNull, lt, ne, or, type SQL } from "drizzle-orm";
import type { Slice } from "../../core/pagination.ts";
import { type IsoInstant, iso } from "../../core/time.ts";
import { stamped } from "../../store/columns.ts";
import { companyOwned, filterOnly, idIn, numberOf } from "../../store/expressions.ts";
import { insertRow, insertRows } from "../../store/insert_rows.ts";
import { columnsOf, findRow, listRows, orderOf } from "../../store/list_rows.ts";
import { countRows, selectRows } from "../../store/select_rows.ts";
import { changeRows } from "../../store/update_rows.ts";
import type { ReadTx, Reads, Tx } from "../../store/store.ts";
import { listModelsNaming } from "../billing_models/queries.ts";
import { namedMeters } from "../billing_models/price_terms.ts";
import { billingModelTable } from "../billing_models/tables.ts";
import { subscriptionTable } from "../subscriptions/tables.ts";
import { clientTable } from "../../tenancy/clients/tables.ts";
import { type Of, Simulation, SimulationDetail, type SimulationRow } from "./model.ts";
import { simulationRowTable, simulationTable } from "./tables.ts";

type Stored = ReturnType<typeof simulationTable>["$inferSelect"];

/** A simulation with what it needs to go on. */
export type RunningSimulation = SimulationDetail &
  Pick<Stored, "draft" | "after_id" | "attempts" | "halvings">;

const detailColumns = (q: Reads) => columnsOf(q.use(simulationTable), SimulationDetail);

function isShown({ q, scope }: ReadTx): SQL | undefined {
  const t = q.use(simulationTable);
  return and(companyOwned(t, scope), ne(t.status, "deleted"));
}

/** The status of one that is not deleted. */
function shown<R extends { status: Stored["status"] }>(
  row: R,
): Omit<R, "status"> & Pick<Simulation, "status"> {
  if (row.status === "deleted") throw new Error("Cannot show a simulation: it is deleted");
  return { ...row, status: row.status };
}

/** Simulations, newest first, and how many there are in all. */
export async function listSimulations(
  tx: ReadTx,
  { sort = "-id" }: { sort?: string },
  slice: Slice,
): Promise<{ rows: Simulation[]; total: number }> {
  const t = tx.q.use(simulationTable);
  const page = { columns: columnsOf(t, Simulation), where: isShown(tx), order: orderOf(t, sort), slice };
  const { rows, total } = await listRows(tx.q, t, page);
  return { rows: rows.map(shown), total };
}

export async function findSimulation(tx: ReadTx, id: number): Promise<SimulationDetail | undefined> {
  const t = tx.q.use(simulationTable);
  const where = and(isShown(tx), eq(t.id, id));
  const row = await findRow(tx.q, t, { columns: detailColumns(tx.q), where });
  return row && shown(row);
}

/** A finished simulation of a cost model, with what says whether it is out of date. */
export type CostSimulation = SimulationDetail & Pick<Stored, "draft" | "last_record_id">;

/** The newest finished simulation of a model over these months, for all subscriptions. */
export async function findCostSimulation(
  tx: ReadTx,
  { billing_model_id, from, to }: { billing_model_id: number; from: string; to: string },
): Promise<CostSimulation | undefined> {
  const t = tx.q.use(simulationTable);
  const { draft, last_record_id } = t;
  const row = await findRow(tx.q, t, {
    columns: { ...detailColumns(tx.q), draft, last_record_id },
    where: and(
      companyOwned(t, tx.scope),
      eq(t.status, "finished"),
      eq(t.billing_model_id, billing_model_id),
      eq(t.from, from),
      eq(t.to, to),
      isNull(t.of),
    ),
    order: desc(t.id),
    limit: 1,
  });
  return row && shown(row);
}

/** How many there are, and how many of them go on. */
export async function countSimulations(tx: ReadTx): Promise<{ all: number; running: number }> {
  const t = tx.q.use(simulationTable);
  return {
    all: await countRows(tx.q, t, isShown(tx)),
    running: await countRows(tx.q, t, and(companyOwned(t, tx.scope), eq(t.status, "running"))),
  };
}

export async function insertSimulation(
  { q, scope, now }: Tx,
  fields: Omit<Stored, "id" | "company_id" | "created_at" | "updated_at">,
): Promise<SimulationDetail> {
  const row = { ...fields, company_id: scope.company_id, ...stamped(now) };
  return shown(await insertRow(q, q.use(simulationTable), row, detailColumns(q)));
}

/** The company's oldest simulation that goes on. */
export async function findRunning({ q, scope }: ReadTx): Promise<RunningSimulation | undefined> {
  const t = q.use(simulationTable);
  const { draft, after_id, attempts, halvings } = t;
  const row = await findRow(q, t, {
    columns: { ...detailColumns(q), draft, after_id, attempts, halvings },
    where: and(eq(t.company_id, scope.company_id), eq(t.status, "running")),
    order: asc(t.id),
  });
  return row && shown(row);
}

/** A simulation that counts by a meter, and why that meter has to stay as it is. */
export interface SimulationNaming {
  readonly id: number;
  readonly status: "running" | "finished";
}

/**
 * The company's first simulation, of those that go on and of those of cost models that finished, whose tried model names
 * a meter. Decision 0259.
 */
export async function findSimulationNaming(
  tx: ReadTx,
  meter_id: number,
): Promise<SimulationNaming | undefined> {
  const t = tx.q.use(simulationTable);
  const m = tx.q.use(billingModelTable);
  const of_company = eq(t.company_id, tx.scope.company_id);
  const running = await selectRows(tx.q, t, {
    columns: { id: t.id, draft: t.draft },
    where: and(of_company, eq(t.status, "running")),
    order: asc(t.id),
  });
  const going_on = running.find(({ draft }) => draft !== null && namedMeters([draft]).includes(meter_id));
  if (going_on) return { id: going_on.id, status: "running" };
  const naming = new Set((await listModelsNaming(tx, meter_id)).map(({ id }) => id));
  if (naming.size === 0) return undefined;
  const [finished] = await selectRows(tx.q, t, {
    columns: { id: t.id },
    joins: [[m, eq(m.id, t.billing_model_id)]],
    where: and(of_company, eq(t.status, "finished"), eq(m.purpose, "cost"), idIn(m.id, [...naming])),
    order: asc(t.id),
    limit: 1,
  });
  return finished && { id: finished.id, status: "finished" };
}

/** The companies with simulations that go on. */
export async function listCompaniesWithSimulations(q: Reads): Promise<number[]> {
  const t = q.use(simulationTable);
  const rows = await q.selectDistinct({ company_id: t.company_id }).from(t).where(eq(t.status, "running"));
  return rows.map(({ company_id }) => company_id);
}

/** Changes a simulation that goes on from where the caller read it. Returns whether it was still there. */
export async function saveStep(
  { q, scope, now }: Tx,
  { id, after_id, attempts }: Pick<RunningSimulation, "id" | "after_id" | "attempts">,
  set: Partial<Omit<Stored, "id" | "company_id" | "created_at">>,
): Promise<boolean> {
  const t = q.use(simulationTable);
  const rows = await changeRows(q, t, {
    set: { ...set, updated_at: iso(now) },
    where: and(
      eq(t.id, id),
      eq(t.company_id, scope.company_id),
      eq(t.status, "running"),
      eq(t.after_id, after_id),
      eq(t.attempts, attempts),
    ),
    returning: { id: t.id },
  });
  return rows.length === 1;
}

/** Marks a simulation as deleted. Returns whether there was one. */
export async function markDeleted(tx: Tx, id: number): Promise<boolean> {
  const t = tx.q.use(simulationTable);
  const rows = await changeRows(tx.q, t, {
    set: { status: "deleted", updated_at: iso(tx.now) },
    where: and(isShown(tx), eq(t.id, id)),
    returning: { id: t.id },
  });
  return rows.length === 1;
}

/** A simulation that is deleted, or was made before. */
export function findDisposable({ q, scope }: ReadTx, before: IsoInstant) {
  const t = q.use(simulationTable);
  const old = and(ne(t.status, "running"), lt(t.created_at, before));
  return findRow(q, t, {
    columns: { id: t.id },
    where: and(eq(t.company_id, scope.company_id), or(eq(t.status, "deleted"), old)),
    order: asc(t.id),
  });
}

/** Deletes so many rows of a simulation, and itself where no more are left. Returns whether it is gone. */
export async function deletePart({ q }: Tx, simulation_id: number, limit: number): Promise<boolean> {
  const t = q.use(simulationRowTable);
  const rows = await selectRows(q, t, {
    columns: { id: t.id },
    where: eq(t.simulation_id, simulation_id),
    order: asc(t.id),
    limit,
  });
  if (rows.length > 0)
    await q.delete(t).where(
      idIn(
        t.id,
        rows.map(({ id }) => id),
      ),
    );
  if (rows.length === limit) return false;
  const simulations = q.use(simulationTable);
  await q.delete(simulations).where(eq(simulations.id, simulation_id));
  return true;
}

// Rows.

export type NewRow = Omit<SimulationRow, "external_subscription_id">;

export async function insertSimulationRows(
  { q, scope, now }: Tx,
  simulation_id: number,
  rows: readonly NewRow[],
): Promise<void> {
  const { company_id } = scope;
  const stamps = stamped(now);
  await insertRows(
    q,
    q.use(simulationRowTable),
    rows.map((row) => ({ ...row, company_id, simulation_id, ...stamps })),
  );
}

function rowColumns(q: Reads) {
  const { subscription_id, periods, billed, simulated, difference, reproduces } = q.use(simulationRowTable);
  const { external_subscription_id } = q.use(subscriptionTable);
  return {
    subscription_id,
    external_subscription_id,
    periods,
    billed,
    simulated,
    difference,
    reproduces,
  };
}

/** A simulation's rows by subscription, and how many there are. */
export async function listSimulationRows(
  { q, scope }: ReadTx,
  { simulation_id, sort = "subscription_id" }: { simulation_id: number; sort?: string },
  slice: Slice,
): Promise<{ rows: SimulationRow[]; total: number }> {
  const t = q.use(simulationRowTable);
  const s = q.use(subscriptionTable);
  const where = and(eq(t.simulation_id, simulation_id), eq(t.company_id, scope.company_id));
  const rows = await selectRows(q, t, {
    columns: rowColumns(q),
    joins: [[s, eq(s.id, t.subscription_id)]],
    where,
    order: rowOrder(t, sort),
    ...slice,
  });
  return { rows, total: await countRows(q, t, where) };
}

/** The order of rows, ties by subscription; amounts as numbers. */
function rowOrder(t: ReturnType<typeof simulationRowTable>, sort: string): SQL[] {
  const direction = sort.startsWith("-") ? desc : asc;
  const amount = ROW_AMOUNTS.find((name) => sort.endsWith(name));
  if (amount === undefined) return [direction(t.subscription_id)];
  return [direction(numberOf(t[amount])), asc(t.subscription_id)];
}

const ROW_AMOUNTS = ["billed", "simulated", "difference"] as const;

/** A simulation's rows after a subscription, with whose they are. */
export function listRowsAfter(
  { q, scope }: ReadTx,
  simulation_id: number,
  { after_id, limit }: { after_id: number; limit: number },
) {
  const t = q.use(simulationRowTable);
  const s = q.use(subscriptionTable);
  return selectRows(q, t, {
    columns: { ...rowColumns(q), client_id: s.client_id, product_id: s.product_id },
    joins: [[s, eq(s.id, t.subscription_id)]],
    where: and(
      eq(t.simulation_id, simulation_id),
      gt(t.subscription_id, after_id),
      filterOnly(eq(t.company_id, scope.company_id)),
    ),
    order: asc(t.subscription_id),
    limit,
  });
}

// What is simulated.

function narrowedTo({ q, scope }: ReadTx, of: Of | null): SQL | undefined {
  const t = q.use(subscriptionTable);
  return and(
    eq(t.company_id, scope.company_id),
    of?.client_ids ? idIn(t.client_id, of.client_ids) : undefined,
    of?.subscription_ids ? idIn(t.id, of.subscription_ids) : undefined,
  );
}

/** The ids of subscriptions that may be simulated, after one. */
export async function listCandidates(
  tx: ReadTx,
  of: Of | null,
  { after_id, limit }: { after_id: number; limit: number },
): Promise<number[]> {
  const t = tx.q.use(subscriptionTable);
  const where = and(gt(t.id, after_id), narrowedTo(tx, of));
  const rows = await selectRows(tx.q, t, { columns: { id: t.id }, where, order: asc(t.id), limit });
  return rows.map(({ id }) => id);
}

/** Which of the ids are clients of the company, deleted ones too. */
export async function existingClients({ q, scope }: ReadTx, ids: readonly number[]): Promise<Set<number>> {
  const t = q.use(clientTable);
  const where = and(idIn(t.id, ids), filterOnly(eq(t.company_id, scope.company_id)));
  return new Set((await selectRows(q, t, { columns: { id: t.id }, where })).map(({ id }) => id));
}

export async function countCandidates(tx: ReadTx, of: Of | null): Promise<number> {
  const t = tx.q.use(subscriptionTable);
  const rows = await tx.q.select({ rows: count() }).from(t).where(narrowedTo(tx, of));
  return rows[0]?.rows ?? 0;
}
