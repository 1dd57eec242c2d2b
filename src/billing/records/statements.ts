import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { type Scope, scopeOf } from "../../core/access.ts";
import { notFound } from "../../core/errors.ts";
import type { HtmlPage } from "../../core/html.ts";
import { recordedPeriod } from "../../core/periods.ts";
import { ById } from "../../core/schema.ts";
import { instant, iso } from "../../core/time.ts";
import { priceTermsOf } from "../billing_models/price_terms.ts";
import { findStoredModels } from "../billing_models/queries.ts";
import { findCompany } from "../../tenancy/companies/queries.ts";
import { findSubscription, listZones } from "../subscriptions/queries.ts";
import type { WindowTotal } from "../../usage_store/port.ts";
import { differencesOf } from "./verify_amounts.ts";
import { runningPeriod } from "../runs/due_periods.ts";
import { invoicePage } from "./invoice_page.ts";
import { type BillingRecordDetail, BillPreview, Verification } from "./model.ts";
import { type UsageAssertion, assertionsOf, storedBy, verify, windowOf } from "./verify_usage.ts";
import { findRecord, listBillable, listRecorded, listRecordedBounds, type RecordedPart } from "./queries.ts";
import { total } from "../rating/charges.ts";
import { ratePreview } from "../runs/reconcile.ts";
import { readTx } from "../../app/transaction.ts";

// What bills say, and what one would say now: nothing here is written.

/**
 * What the running period comes to so far: the lines that a bill would have now, the fee whole. Of a cancelled
 * subscription its last period, of one that has not started its first. Errors: not_found, for a client user also
 * when it is another client's. Decision 0071.
 */
export const previewSubscription = operation({
  name: "preview_subscription",
  permission: "billing:read",
  input: ById,
  output: BillPreview,
  async run(ctx, { id }) {
    const scope = scopeOf(ctx.actor);
    const [subscription] = await listBillable(readTx(ctx), { ids: [id], limit: 1 });
    if (!subscription) throw notFound("Subscription", id);
    const zones = await listZones(readTx(ctx));
    const recorded = await listRecordedBounds(readTx(ctx), [id]);
    const period = runningPeriod(subscription, zones, ctx.now, recorded.get(id));
    const { lines, currency } = await ratePreview(ctx, scope, { subscription, period });
    const bounds = { from: iso(period.from), to: iso(period.to) };
    return { ...bounds, lines: [...lines], total: total(lines, currency), currency };
  },
});

/**
 * Counts the events of each usage line again, those that were stored when the record was written, prices and adds
 * up its lines again, and tells where the record says something else. Errors: not_found. Decisions 0072, 0129.
 */
export const verifyBillingRecord = operation({
  name: "verify_billing_record",
  permission: "billing:read",
  input: ById,
  output: Verification,
  async run(ctx, { id }) {
    const scope = scopeOf(ctx.actor);
    const { read } = ctx.store;
    const record = await recordOf(ctx, scope, id);
    const { subscription_id, billingStartAt, sequence, currency } = record;
    const recorded = (
      await listRecorded({ q: read, scope, now: ctx.now }, [subscription_id], [billingStartAt])
    ).filter((part) => part.sequence <= sequence);
    const named = record.lines.map(({ billing_model_id }) => billing_model_id);
    const models = await findStoredModels({ q: read, scope, now: ctx.now }, [...new Set(named)]);
    const modelOf = (model_id: number) => {
      const model = models.get(model_id);
      if (!model) throw new Error(`Cannot verify a line: billing model ${model_id} is not there`);
      return priceTermsOf(model);
    };
    const differences = differencesOf(record, recorded, modelOf);
    const assertions = assertionsOf(recorded, currency);
    const counted = await countAssertions(ctx, scope, subscription_id, assertions);
    const lines = recorded.at(-1)?.lines ?? [];
    return verify(assertions, (claim, part) => counted(claim, part), lines, differences);
  },
});

/**
 * A billing record as a printable page. Errors: not_found, for a client user also when it is another client's.
 * Decision 0073.
 */
export const getInvoice = operation({
  name: "get_invoice",
  permission: "billing:read",
  input: ById,
  output: Type.Unsafe<HtmlPage>(Type.Any()),
  async run(ctx, { id }) {
    const scope = scopeOf(ctx.actor);
    const { read } = ctx.store;
    const record = await recordOf(ctx, scope, id);
    const [company, subscription, zones] = await Promise.all([
      findCompany({ q: read, scope, now: ctx.now }),
      findSubscription({ q: read, scope, now: ctx.now }, record.subscription_id),
      listZones({ q: read, scope, now: ctx.now }),
    ]);
    if (!company || !subscription) throw notFound("Billing record", id);
    const { adjusts_billing_record_id: adjusts } = record;
    const original = adjusts === null ? null : await recordOf(ctx, scope, adjusts);
    const bounds = { from: instant(record.billingStartAt), to: instant(record.billingEndAt) };
    const period = recordedPeriod(bounds, subscription.billing_anchor_day, zones);
    return invoicePage({ company_name: company.name, record, subscription, period, original });
  },
});

async function recordOf({ store, now }: Context, scope: Scope, id: number): Promise<BillingRecordDetail> {
  const record = await findRecord({ q: store.read, scope, now }, id);
  if (!record) throw notFound("Billing record", id);
  return record;
}

/** What the events say to every claim, one question for each record whose events are asked for. */
async function countAssertions(
  { usage, config }: Context,
  { company_id }: Scope,
  subscription_id: number,
  claims: readonly UsageAssertion[],
): Promise<(claim: UsageAssertion, part: RecordedPart) => WindowTotal> {
  const timeout_ms = config.usage_query_timeout_ms;
  const windows = claims.map(({ line }) => windowOf(line, subscription_id));
  const parts = new Set(claims.flatMap(({ until, since }) => [until, since]).filter((part) => part !== null));
  const totals = new Map<RecordedPart, WindowTotal[]>();
  for (const part of parts) {
    totals.set(part, await usage.totals(company_id, windows, { ...storedBy(part), timeout_ms }));
  }
  return (claim, part) => {
    const found = totals.get(part)?.[claims.indexOf(claim)];
    if (!found) throw new Error("Cannot verify a line: its usage was not counted");
    return found;
  };
}
