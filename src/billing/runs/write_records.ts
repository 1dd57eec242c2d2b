import { stamped } from "../../store/columns.ts";
import type { Tx } from "../../store/store.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import type { BillingRecord } from "../records/model.ts";
import { insertRecords, toRecord } from "../records/queries.ts";
import { type ComparedPeriod, type Outcome, periodKey, recordKey } from "./pipeline.ts";
import { deleteBilled } from "./unbilled_queries.ts";

// The last stage of the pipeline.

/** Writes the missing records whose place is still free, with their domain events. */
export async function write(tx: Tx, compared: readonly ComparedPeriod[]): Promise<Outcome[]> {
  const missing = compared.flatMap((period) =>
    period.result === "ready" ? [{ ...period.record, usage_seq: period.counted_seq }] : [],
  );
  const records = await insertRecords(tx, missing);
  const metered = new Set(compared.filter(({ part }) => part !== "advance").map(periodKey));
  await deleteBilled(
    tx,
    records.filter((record) => metered.has(recordKey(record))),
  );
  await recordEvents(tx, records.flatMap(eventsOf));
  const written = new Map(records.map((record) => [recordKey(record), record]));
  return compared.map((period) => {
    if (period.result !== "ready") return period;
    const record = written.get(periodKey(period));
    // Without one, another call has written a record with this sequence number first.
    return record ? { ...period, result: "written", record } : { ...period, result: "outdated" };
  });
}

/** What `write` would write, without ids. */
export function dryWrite(compared: readonly ComparedPeriod[], now: Temporal.Instant): Outcome[] {
  return compared.map((period) =>
    period.result === "ready"
      ? { ...period, result: "written", record: { ...toRecord(period.record), ...stamped(now) } }
      : period,
  );
}

function eventsOf(record: BillingRecord): NewEvent[] {
  const { id, kind, subscription_id, billing_model_id, billing_run_id, adjusts_billing_record_id } = record;
  const { unmetered } = record;
  const written: NewEvent = {
    type: kind === "adjustment" ? "billing_record.adjusted" : "billing_record.created",
    data: { id, kind, subscription_id, billing_model_id, billing_run_id, adjusts_billing_record_id },
  };
  if (kind !== "period" || unmetered === undefined) return [written];
  return [
    written,
    { type: "usage.unmetered", data: { subscription_id, billing_record_id: id, ...unmetered } },
  ];
}
