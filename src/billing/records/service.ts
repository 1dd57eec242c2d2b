import { Type } from "@sinclair/typebox";
import { operation } from "../../app/operation.ts";
import { readTx } from "../../app/transaction.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { AppError, notFound, orNotFound } from "../../core/errors.ts";
import type { HtmlPage } from "../../core/html.ts";
import { pagedList } from "../../core/pagination.ts";
import { recordedPeriod } from "../../core/periods.ts";
import { ById, pagedWithSums } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import { namedMeters } from "../billing_models/price_terms.ts";
import { findMeters } from "../meters/queries.ts";
import { findElsewhere } from "../runs/commitment_years.ts";
import { findIdByExternalId, findSubscription, listZones } from "../subscriptions/queries.ts";
import { countAssertions, UsageCount } from "./count_usage.ts";
import { belongsTo, findEvent, linesOfEvent, recordsAfter } from "./event_lines.ts";
import { invoicePage } from "./invoice_page.ts";
import {
  BillingRecord,
  BillingRecordDetail,
  EventLines,
  FindEventLines,
  ListBillingRecords,
  Verification,
} from "./model.ts";
import { listRecords, sumRecords, withNames } from "./list_queries.ts";
import * as queries from "./queries.ts";
import { differencesOf } from "./verify_amounts.ts";
import { findTermsOf } from "./terms_of_lines.ts";
import { assertionsOf, verify } from "./verify_usage.ts";

/**
 * Lists billing records without their lines, the last written first unless `sort` says otherwise. A client user sees its client's.
 * Decision 0034.
 */
export const listBillingRecords = operation({
  name: "list_billing_records",
  permission: "billing:read",
  input: ListBillingRecords,
  output: pagedWithSums(BillingRecord),
  run: (ctx, { page, limit, with: more, sums = false, sort = "-id", ...filter }) =>
    pagedList({ page, limit }, SHARED_LIMITS.page_limit_default, async (slice) => {
      const tx = readTx(ctx);
      const { rows, total } = await listRecords(tx, { ...filter, sort }, slice);
      return {
        rows: more === "names" ? await withNames(tx, rows) : rows,
        total,
        ...(sums ? { sums: await sumRecords(tx, filter) } : {}),
      };
    }),
});

/**
 * Finds one billing record with its lines and its subscription. Errors: not_found, for a client user also when
 * it is another client's.
 */
export const getBillingRecord = operation({
  name: "get_billing_record",
  permission: "billing:read",
  input: ById,
  output: BillingRecordDetail,
  run: (ctx, { id }) => requireRecord(readTx(ctx), id),
});

/**
 * Verifies a billing record: counts the events of its usage lines that were stored when it was written, prices and
 * adds up its lines again, and lists the differences. Errors: not_found. Decisions 0072, 0129.
 */
export const verifyBillingRecord = operation({
  name: "verify_billing_record",
  permission: "billing:read",
  input: ById,
  output: Verification,
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const record = await requireRecord(tx, id);
    const { subscription_id, billingStartAt, sequence, currency } = record;
    const of_period = await queries.listRecorded(tx, [subscription_id], [billingStartAt]);
    const recorded = of_period.filter((part) => part.sequence <= sequence);
    const { modelOf, terms } = await findTermsOf(tx, record.lines);
    const differences = differencesOf(record, recorded, modelOf, await findElsewhere(tx, record));
    const assertions = assertionsOf(recorded, currency);
    const count = new UsageCount(await findMeters(tx, namedMeters(terms)));
    const period = { from: instant(billingStartAt), to: instant(record.billingEndAt) };
    const counted = countAssertions(count, assertions, modelOf, {
      subscription: record.subscription,
      period,
    });
    await count.ask(ctx.usage, tx.scope.company_id, ctx.config.usage_query_timeout_ms);
    return verify(assertions, counted, recorded.at(-1)?.lines, differences);
  },
});

/**
 * Finds the lines of bills that count a usage event. A client user finds its own client's. Errors: not_found for an event
 * that is not there, or was removed; unavailable past the time limit. Decision 0311.
 */
export const findEventLines = operation({
  name: "find_event_lines",
  permission: "billing:read",
  input: FindEventLines,
  output: EventLines,
  async run(ctx, { id: given, external_subscription_id, timestamp }): Promise<EventLines> {
    const tx = readTx(ctx);
    const { company_id } = tx.scope;
    const id = given.toLowerCase();
    const missing = new AppError("not_found", `Usage event ${id} not found`);
    const subscription_id = await findIdByExternalId(tx, external_subscription_id);
    if (subscription_id === undefined) throw missing;
    const place = { company_id, subscription_id, timestamp, id };
    const found = await findEvent(ctx.usage, place, ctx.config.usage_query_timeout_ms);
    if (found === undefined) throw missing;
    const at = iso(Temporal.Instant.fromEpochMilliseconds(timestamp));
    const records = await queries.listRecordedAt(tx, subscription_id, at);
    const all_lines = records.flatMap(({ lines }) => lines);
    const { modelOf, terms } = await findTermsOf(tx, all_lines);
    const meters = await findMeters(tx, namedMeters(terms));
    const after = await recordsAfter(ctx, company_id, found, records);
    const lines = linesOfEvent(
      records,
      (line) => belongsTo(line, found.event, meters, modelOf),
      (record) => after.has(record),
    );
    return {
      subscription_id,
      is_billed: records.some(({ kind }) => kind === "period"),
      lines: lines.map(({ record: { id: billing_record_id, kind, currency }, ...rest }) => ({
        billing_record_id,
        kind,
        currency,
        ...rest,
      })),
    };
  },
});

/**
 * Renders a billing record as a printable page. Errors: not_found, for a client user also when it is another
 * client's. Decision 0073.
 */
export const getInvoice = operation({
  name: "get_invoice",
  permission: "billing:read",
  input: ById,
  output: Type.Unsafe<HtmlPage>(Type.Any()),
  async run(ctx, { id }) {
    const tx = readTx(ctx);
    const record = await requireRecord(tx, id);
    const [company, subscription, zones] = await Promise.all([
      findCompany(tx),
      findSubscription(tx, record.subscription_id),
      listZones(tx),
    ]);
    if (!company || !subscription) throw notFound("Billing record", id);
    const { adjusts_billing_record_id: adjusts } = record;
    const original = adjusts === null ? null : await requireRecord(tx, adjusts);
    const bounds = { from: instant(record.billingStartAt), to: instant(record.billingEndAt) };
    const period = recordedPeriod(bounds, subscription.billing_anchor_day, zones);
    return invoicePage({ company_name: company.name, record, subscription, period, original });
  },
});

async function requireRecord(tx: ReadTx, id: number): Promise<BillingRecordDetail> {
  return orNotFound(await queries.findRecord(tx, id), "Billing record", id);
}
