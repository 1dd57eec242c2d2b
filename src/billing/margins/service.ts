import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { AppError, invalid } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { type Decimal, roundMoney, sum } from "../../core/money.ts";
import { aroundMonth, recordedPeriod } from "../../core/periods.ts";
import { instant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import type { StoredBillingModel } from "../billing_models/model.ts";
import { findStoredModels } from "../billing_models/queries.ts";
import { isSamePrice } from "../billing_models/rules.ts";
import { LIMITS } from "../limits.ts";
import type { SimulationDetail } from "../simulations/model.ts";
import { listBilledAfter } from "../simulations/billed_queries.ts";
import { type CostSimulation, findCostSimulation, listRowsAfter } from "../simulations/queries.ts";
import { listGroupNames } from "../revenue/queries.ts";
import { listZones } from "../subscriptions/queries.ts";
import { type MarginRow, Margins, ReportMargins } from "./model.ts";
import { addUp, byMargin, type GroupAmounts, marginOf } from "./rules.ts";

/**
 * What months were billed less what their usage cost, by client, product or charge: the newest finished simulation of the
 * cost model over all subscriptions in these months. Errors: invalid for a model that is no cost, conflict where there is
 * no such simulation, saying which to start. Decisions 0249, 0262.
 */
export const reportMargins = operation({
  name: "report_margins",
  permission: "revenue:read",
  input: ReportMargins,
  output: Margins,
  async run(ctx, { cost_model_id, from, to, group_by = "client", page = 1, limit }) {
    const tx = readTx(ctx);
    if (from > to) throw invalid("/to", "must not be before from");
    const model = (await findStoredModels(tx, [cost_model_id])).get(cost_model_id);
    if (!model) throw invalid("/cost_model_id", "names no billing model of this company");
    if (model.purpose !== "cost")
      throw invalid("/cost_model_id", "must name a billing model of purpose cost");
    const simulation = await findCostSimulation(tx, { billing_model_id: cost_model_id, from, to });
    if (!simulation)
      throw new AppError(
        "conflict",
        `Cannot report margins: send POST /simulations {"billing_model_id": ${cost_model_id}, "from": "${from}", "to": "${to}"} first, and wait until it finished`,
      );
    const { id, currency, totals } = simulation;
    const round = (amount: Decimal) => roundMoney(amount, currency);
    const rows = byMargin(
      group_by === "charge" ? ofCharges(simulation, round) : await ofRows(ctx, id, group_by, round),
    );
    const size = limit ?? SHARED_LIMITS.page_limit_default;
    return {
      cost_model_id,
      simulation_id: id,
      stale: await staleReasons(tx, simulation, model),
      from,
      to,
      currency,
      totals: marginOf(totals, round),
      groups: rows.length,
      rows: rows.slice((page - 1) * size, page * size),
    };
  },
});

/** Why a simulation of a cost model is out of date; none: it is not. Decision 0262. */
async function staleReasons(
  tx: ReadTx,
  { draft, last_record_id, from, to, currency }: CostSimulation,
  model: StoredBillingModel,
): Promise<Margins["stale"]> {
  const bounds = { from: aroundMonth(from).from, to: aroundMonth(to).to };
  const billed = await listBilledAfter(tx, last_record_id ?? 0, { ...bounds, currency });
  const zones = await listZones(tx);
  const is_billed_since = billed.some(({ billingStartAt, billingEndAt, billing_anchor_day }) => {
    const recorded = { from: instant(billingStartAt), to: instant(billingEndAt) };
    const { start_date } = recordedPeriod(recorded, billing_anchor_day, zones);
    const month = start_date.toPlainYearMonth().toString();
    return month >= from && month <= to;
  });
  return [
    ...(draft === null || !isSamePrice(draft, model) ? ["costs_changed" as const] : []),
    ...(is_billed_since ? ["billed_since" as const] : []),
  ];
}

type Round = (amount: Decimal) => Decimal;

function ofCharges({ charges }: SimulationDetail, round: Round): MarginRow[] {
  // A charge may have the name of a kind as its code.
  const groups = Map.groupBy(charges, ({ kind, charge_code }) =>
    charge_code === null ? `kind ${kind}` : `code ${charge_code}`,
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (!first) return [];
    const { kind, charge_code } = first;
    const amounts = {
      billed: sum(group.map(({ billed }) => billed)),
      simulated: sum(group.map(({ simulated }) => simulated)),
    };
    return [{ id: null, name: charge_code ?? kind, charge_code, ...marginOf(amounts, round) }];
  });
}

/** By the clients or the products of the simulation's subscriptions. */
async function ofRows(
  ctx: Context,
  simulation_id: number,
  group_by: "client" | "product",
  round: Round,
): Promise<MarginRow[]> {
  const tx = readTx(ctx);
  const groups = new Map<number, GroupAmounts>();
  for (let after_id = 0; ; ) {
    const rows = await listRowsAfter(tx, simulation_id, { after_id, limit: LIMITS.simulation_write });
    for (const row of rows) addUp(groups, group_by === "client" ? row.client_id : row.product_id, row);
    const last = rows.at(-1);
    if (!last) break;
    after_id = last.subscription_id;
  }
  const names = await listGroupNames(tx, group_by, [...groups.keys()]);
  return [...groups].map(([id, amounts]) => ({
    id,
    name: names.get(id) ?? "",
    ...marginOf(amounts, round),
  }));
}
