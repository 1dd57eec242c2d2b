import { expect } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { changesOf } from "../billing_model_changes/fixtures.ts";
import type { Company } from "../fixtures.ts";

/** What is previewed, by the path of the request under its subscription. */
export type Previewed = "billing-model-changes" | "upgrade" | "downgrade" | "cancel";

const RECORD_FIELDS = [
  "billing_model_id",
  "kind",
  "sequence",
  "currency",
  "billedUnits",
  "totalCharges",
  "billingStartAt",
  "billingEndAt",
  "unmetered",
  "lines",
];

const pickFields = (record: Json, fields: readonly string[]) =>
  Object.fromEntries(fields.filter((field) => field in record).map((field) => [field, record[field]]));

const scheduledIds = async ({ api }: Company, id: number): Promise<Json[]> =>
  (await changesOf(api, id)).filter(({ status }) => status === "scheduled");

/**
 * Previews a request, sends it, and expects the preview to be what was then written: the same refusal, or the same
 * change, records and bills. Returns the answer to the request.
 */
export async function previewAndSend(
  company: Company,
  id: number,
  what: Previewed,
  body: Json,
): Promise<Answer> {
  const { api } = company;
  const path = `/subscriptions/${id}/${what}`;
  const preview = await api("POST", `${path}/preview`, body);
  const records = new Set((await company.records(id)).map((record) => record.id));
  const scheduled = await scheduledIds(company, id);
  const answer = await api("POST", path, body);
  expect(preview.status, `${what} ${JSON.stringify([body, preview.body, answer.body])}`).toBe(answer.status);
  if (answer.status !== 200) {
    expect(preview.body).toEqual(answer.body);
    return answer;
  }
  const found = preview.body.data;
  const changes = await changesOf(api, id);
  const cancelled = scheduled.filter(
    (change) => changes.find((now) => now.id === change.id)?.status === "cancelled",
  );
  expect(found.cancelled_change_ids).toEqual(cancelled.map((change) => change.id).toSorted((a, b) => a - b));
  const written = (await company.records(id))
    .map((record) => record.id)
    .filter((record) => !records.has(record));
  const own: number[] = what === "cancel" ? written : answer.body.data.adjustment_billing_record_ids;
  await expectRecords(company, found, own);
  if (what === "cancel") expect(found.effective_at).toBe(answer.body.data.ends_at);
  else {
    const fields = ["kind", "old_billing_model_id", "new_billing_model_id", "effective_at", "credits_added"];
    expect(pickFields(found, fields)).toEqual(pickFields(answer.body.data, fields));
    expect(found.at_once).toBe(answer.body.data.status === "applied");
  }
  await expectBill(company, id, found);
  return answer;
}

async function expectRecords({ api }: Company, preview: Json, ids: readonly number[]): Promise<void> {
  const records: Json[] = [];
  for (const id of ids) records.push((await api("GET", `/billing-records/${id}`)).body.data);
  expect(preview.records.map((record: Json) => pickFields(record, RECORD_FIELDS))).toEqual(
    records.map((record) => pickFields(record, RECORD_FIELDS)),
  );
  for (const [i, { adjusts_billing_record_id: adjusts }] of preview.records.entries())
    if (adjusts !== null) expect(adjusts).toBe(records[i]?.adjusts_billing_record_id);
}

/** The bill of the running period is what the preview said, as it is now and as another preview begins with. */
async function expectBill(company: Company, id: number, { bills: [running], subscription_id }: Json) {
  expect(subscription_id).toBe(id);
  const later = await scheduledIds(company, id);
  if (!later.some(({ effective_at }) => effective_at < running.to)) {
    const { body } = await company.api("GET", `/subscriptions/${id}/preview`);
    if (body.data.from === running.from)
      expect({ lines: running.after.lines, total: running.after.total }).toEqual({
        lines: body.data.lines,
        total: body.data.total,
      });
  }
  const next = await company.api("POST", `/subscriptions/${id}/cancel/preview`, { at: "now" });
  if (next.status === 200) expect(next.body.data.bills[0].before).toEqual(running.after);
}
