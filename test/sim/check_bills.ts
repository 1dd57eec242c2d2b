import { eq } from "drizzle-orm";
import { billingRecordTable } from "../../src/billing/records/tables.ts";
import { subscriptionTable } from "../../src/billing/subscriptions/tables.ts";
import { type Facts, type Month, monthsOf, rateMonth } from "./bill_model.ts";
import type { SimCompany } from "./company.ts";

const GRACE_MS = 3_600_000;
/** So long usage that comes late is billed by itself; a day less, since jobs run at other moments than this. */
const RECHECKED_MS = 89 * 24 * GRACE_MS;

interface Recorded {
  sequence: number;
  kind: string;
  cents: bigint;
  usage_seq: number;
  /** It counts events stored before this instant. */
  until_ms: number;
  written_ms: number;
}

/** Rates every bill of the company anew by the model. Errors: throws the first that differs. */
export async function checkBills(company: SimCompany): Promise<void> {
  const { read } = company.base.store;
  const records = read.use(billingRecordTable);
  const subscriptions = read.use(subscriptionTable);
  const rows = await read.select().from(records).where(eq(records.company_id, company.company_id));
  const lives = await read
    .select()
    .from(subscriptions)
    .where(eq(subscriptions.company_id, company.company_id));
  const ends = new Map(lives.map(({ id, ends_at }) => [id, ends_at]));
  for (const subscription of company.subscriptions) {
    const facts = await company.factsOf(subscription, ends.get(subscription.id) ?? null);
    const own = rows.filter(({ subscription_id }) => subscription_id === subscription.id);
    const by_start = Map.groupBy(own, ({ billingStartAt }) => Date.parse(billingStartAt));
    const now_ms = company.clock.now_ms;
    for (const month of monthsOf(facts, now_ms)) {
      const found = by_start.get(month.from_ms);
      by_start.delete(month.from_ms);
      const ended_ms = Math.min(month.to_ms, facts.ends_ms ?? month.to_ms);
      const where = `subscription ${subscription.id}, ${month.first.toString()}`;
      if (found === undefined) {
        if (ended_ms + GRACE_MS <= now_ms) throw new Error(`${where}: it is due, and was not billed`);
        continue;
      }
      // A clock that went back does not undo what was billed in its time.
      if (ended_ms + GRACE_MS > company.latest_ms)
        throw new Error(
          `${where}: it was billed early: ${found.map((one) => `${one.kind} of ${one.billingStartAt} to ${one.billingEndAt} at ${one.created_at}`).join(", ")}; the subscription ends ${ends.get(subscription.id)}`,
        );
      const recorded = found.map((row) => ({
        sequence: row.sequence,
        kind: row.kind,
        cents: BigInt(row.totalCharges.replace(".", "")),
        usage_seq: row.usage_seq ?? 0,
        until_ms: Date.parse(row.usage_until),
        written_ms: Date.parse(row.created_at),
      }));
      checkMonth(company, subscription.id, { facts, month, recorded, where, ended_ms });
    }
    for (const [from_ms] of by_start)
      throw new Error(
        `subscription ${subscription.id}: a bill of no month, from ${new Date(from_ms).toISOString()}`,
      );
  }
}

function checkMonth(
  company: SimCompany,
  subscription_id: number,
  bill: { facts: Facts; month: Month; recorded: Recorded[]; where: string; ended_ms: number },
): void {
  const { facts, month, where, ended_ms } = bill;
  const recorded = bill.recorded.toSorted((a, b) => a.sequence - b.sequence);
  const kinds = recorded.map(({ kind }) => kind).join(" ");
  if (!/^period( adjustment)*$/.test(kinds)) throw new Error(`${where}: its records are ${kinds}`);
  if (recorded.some(({ sequence }, i) => sequence !== i))
    throw new Error(`${where}: a sequence is missing or twice`);
  const billed = recorded.reduce((sum, { cents }) => sum + cents, 0n);
  const events = company.usage.of(subscription_id);
  const last_seq = Math.max(...recorded.map(({ usage_seq }) => usage_seq));
  const until_ms = Math.max(...recorded.map((one) => one.until_ms));
  const counted = rateMonth(
    facts,
    month,
    events.filter(({ seq, created_at }) => seq <= last_seq && created_at < until_ms),
  );
  const written_ms = Math.max(...recorded.map((one) => one.written_ms));
  const now_ms = company.clock.now_ms;
  // While a clock that went back shows less than a bill has counted by, no other one follows it.
  const may_follow = until_ms <= now_ms + 1;
  const is_fresh = may_follow && Math.max(ended_ms, written_ms) + RECHECKED_MS > now_ms;
  // What was stored later than it shows counts when it has caught up.
  const all = rateMonth(
    facts,
    month,
    events.filter(({ created_at }) => created_at <= now_ms),
  );
  // What comes to the same money may wait for its adjustment.
  const expected = is_fresh ? all : counted;
  if (billed !== expected && !(billed === all))
    throw new Error(
      `${where}: ${recorded.map(({ cents }) => cents).join(" + ")} cents are billed, and the model has ${expected} (${counted} by what was counted, ${all} by all events stored by now)`,
    );
}
