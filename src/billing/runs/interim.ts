import { readTx } from "../../app/transaction.ts";
import { chunks } from "../../core/chunk.ts";
import { compare, sum } from "../../core/money.ts";
import type { ZoneTimeline } from "../../core/periods.ts";
import { instant, iso } from "../../core/time.ts";
import { type InterimSubscription, listInterimSubscriptions } from "../billing_profiles/queries.ts";
import { LIMITS } from "../limits.ts";
import { total } from "../rating/charges.ts";
import { listRecorded, listRecordedBounds } from "../records/queries.ts";
import { runningPeriod } from "../subscriptions/due_periods.ts";
import { listZones } from "../subscriptions/queries.ts";
import { type DuePeriod, duePeriod } from "./billable.ts";
import { listBillable } from "./billable_queries.ts";
import { CommitmentYears } from "./commitment_years.ts";
import type { BillingJob } from "./billing_job.ts";
import { missingOf, periodKey, rateDue, recordKey } from "./pipeline.ts";
import { billBatch } from "./resilience.ts";

/**
 * Bills the usage so far of running periods, of the clients whose usage that is not billed yet has come to their
 * interim_at. Returns false when the process is about to end. Errors: those of the usage store. Decision 0244.
 */
export async function billInterim(run: BillingJob): Promise<boolean> {
  const { ctx, subscription_ids } = run;
  const tx = readTx(ctx);
  const watched = await listInterimSubscriptions(tx);
  if (watched.length === 0) return true;
  const zones = await listZones(tx);
  const asked = subscription_ids && new Set(subscription_ids);
  for (const clients of chunks(
    [...Map.groupBy(watched, ({ client_id }) => client_id).values()],
    LIMITS.interim_clients,
  )) {
    if (ctx.background.is_stopping) return false;
    const found = await runningPeriods(run, clients.flat(), zones);
    const due = await reached(run, clients, found);
    const wanted = due.filter(({ subscription }) => asked?.has(subscription.id) ?? true);
    if (wanted.length > 0 && !(await billBatch(run, wanted))) return false;
    await Bun.sleep(LIMITS.billing_pause_ms);
  }
  return true;
}

/** The periods that run now. */
async function runningPeriods(
  { ctx }: BillingJob,
  subscriptions: readonly InterimSubscription[],
  zones: ZoneTimeline,
): Promise<DuePeriod[]> {
  const tx = readTx(ctx);
  const ids = subscriptions.map(({ id }) => id);
  const around = { from: ctx.now.subtract(TWO_MONTHS), to: ctx.now.add(TWO_MONTHS) };
  const bounds = await listRecordedBounds(tx, ids, around);
  const started = (await listBillable(tx, { ids, limit: ids.length })).filter(
    ({ started_at }) => Temporal.Instant.compare(instant(started_at), ctx.now) <= 0,
  );
  return started.map((subscription) =>
    duePeriod(
      subscription,
      runningPeriod(subscription, zones, ctx.now, bounds.get(subscription.id)),
      zones,
      "interim",
    ),
  );
}

const TWO_MONTHS = Temporal.Duration.from({ hours: 24 * 62 });

/** Those of the periods whose client has used as much as it is billed at. */
async function reached(
  { ctx }: BillingJob,
  clients: readonly (readonly InterimSubscription[])[],
  periods: readonly DuePeriod[],
): Promise<DuePeriod[]> {
  const { done } = await rateDue(ctx, periods);
  const ids = done.map(({ subscription }) => subscription.id);
  const starts = [...new Set(done.map(({ period }) => iso(period.from)))];
  const recorded = Map.groupBy(await listRecorded(readTx(ctx), ids, starts), recordKey);
  const years = await new CommitmentYears().read(readTx(ctx), done);
  const rated = new Map(done.map((period) => [period.subscription.id, years.withLines(period)]));
  return clients.flatMap((subscriptions) => {
    const [profile] = subscriptions;
    if (!profile) return [];
    const { currency, interim_at } = profile;
    const own = subscriptions.flatMap(({ id }) => {
      const period = rated.get(id);
      return period?.subscription.billing_model.currency === currency ? [period] : [];
    });
    const unbilled = own.map((period) =>
      total(missingOf(period, recorded.get(periodKey(period)) ?? [])?.lines ?? [], currency),
    );
    return compare(sum(unbilled), interim_at) >= 0 ? own : [];
  });
}
