import { expect, test } from "bun:test";
import { instant, iso } from "../../../src/core/time.ts";
import { netByLine } from "../../../src/billing/rating/adjustment.ts";
import type { BillLine } from "../../../src/billing/rating/bill_line.ts";
import { type Dice, dice, pick } from "../../support/dice.ts";
import type { Json } from "../../support/harness.ts";
import { FUZZ_SEED, fuzzRounds } from "../../support/properties.ts";
import { applyDueChanges } from "../billing_model_changes/fixtures.ts";
import { type Company, CREDIT, FLAT, GRADUATED, PER_UNIT, useBilling } from "../fixtures.ts";
import { previewAndSend } from "./fixtures.ts";

// Random histories with what test/billing/runs/histories.test.ts has not: fees in advance and of longer intervals, setup
// fees, trials, charges by meters and commitments. `FUZZ_ROUNDS=500 bun test --timeout 7200000 test/billing/previews`
// tries more.

const ROUNDS = fuzzRounds(2);
const STEPS = 30;
const ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kuala_Lumpur"];

const billing = useBilling();

const credit = (monthly_credits: number, price: number): Json => ({
  ...CREDIT,
  price,
  credit_plan: { ...CREDIT.credit_plan, monthly_credits },
});

function models(meter_id: number): Json[] {
  const charge = { code: "calls", name: "Calls", type: "graduated", meter_id };
  const usage_tiers = [
    { up_to: "3", unit_price: "2" },
    { up_to: null, unit_price: "0.75" },
  ];
  return [
    { ...FLAT, fee_timing: "in_advance" },
    { ...FLAT, price: 365, fee_interval: "year", fee_timing: "in_advance" },
    { ...FLAT, price: 90, fee_interval: "quarter", fee_timing: "in_advance" },
    { ...PER_UNIT, recurring_fee: "12.34", fee_timing: "in_advance", setup_fee: "50" },
    {
      ...FLAT,
      price: 5,
      charges: [{ ...charge, usage_tiers }],
      commitment: { minimum: "20", maximum: "60" },
    },
    { ...PER_UNIT, price: 3, commitment: { minimum: "400", maximum: "600", interval: "year" } },
    { ...GRADUATED, price: 7, trial_days: 10 },
    { ...credit(100, 31), fee_timing: "in_advance" },
    credit(400, 62),
  ];
}

/** Some days on, in which periods may have ended, been billed or not. */
async function goOn(company: Company, roll: Dice): Promise<void> {
  const now = billing.clock.now().add({ hours: roll(24 * 14), minutes: roll(60) });
  billing.clock.set(iso(now));
  if (roll(3) > 0) await applyDueChanges(billing.service);
  if (roll(2) === 0) await company.run();
}

async function use(company: Company, roll: Dice, id: number): Promise<void> {
  const at = () => iso(billing.clock.now().subtract({ hours: roll(24 * 45), minutes: 1 + roll(50) }));
  await company.use(id, [at(), `${roll(40)}.5`], [at(), `${roll(9) - 4}`]);
}

async function change(company: Company, roll: Dice, plans: readonly number[], id: number): Promise<string> {
  const new_billing_model_id = pick(roll, plans);
  const way = roll(12);
  if (way === 0) return send("cancel", { at: pick(roll, ["now", "period_end"]) });
  if (way < 3) return send(pick(roll, ["upgrade", "downgrade"]), { new_billing_model_id });
  const effective_at = iso(billing.clock.now().add({ minutes: roll(60 * 24 * 90) - 60 * 24 * 60 }));
  return send("billing-model-changes", { new_billing_model_id, effective_at });

  async function send(what: "billing-model-changes" | "upgrade" | "downgrade" | "cancel", body: Json) {
    const { status } = await previewAndSend(company, id, what, body);
    return `${iso(billing.clock.now())} ${id} ${what} ${JSON.stringify(body)}: ${status}`;
  }
}

/** What a preview says that the running period will come to is billed when it has ended, if nothing more happens. */
async function expectBilled(company: Company, id: number): Promise<boolean> {
  const preview = await company.api("POST", `/subscriptions/${id}/cancel/preview`, { at: "now" });
  if (preview.status !== 200) return false;
  const [{ from, to, before }] = preview.body.data.bills;
  billing.clock.set(iso(instant(to).add({ hours: 2 })));
  await applyDueChanges(billing.service);
  await company.run();
  const lines: BillLine[] = [];
  for (const record of await company.records(id)) {
    if (record.billingStartAt !== from) continue;
    lines.push(...(await company.api("GET", `/billing-records/${record.id}`)).body.data.lines);
  }
  const billed = [...netByLine(lines, "EUR")].filter(([, line]) => line.amount !== "0.00");
  const wanted = [...netByLine(before.lines, "EUR")].filter(([, line]) => line.amount !== "0.00");
  const amounts = (net: typeof billed) => net.map(([key, line]) => `${key}: ${line.amount}`).toSorted();
  expect(amounts(billed)).toEqual(amounts(wanted));
  return true;
}

test("random histories: a preview is what the request then writes, and what is billed in the end", async () => {
  let billed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const roll = dice(FUZZ_SEED + round);
    billing.clock.set("2024-01-31T10:00:00Z");
    const company = await billing.addCompany({ timezone: pick(roll, ZONES) });
    const meter = { code: "calls", name: "Calls", aggregation: "count" };
    const meter_id = (await company.api("POST", "/meters", meter)).body.data.id;
    const plans: number[] = [];
    for (const model of models(meter_id)) plans.push(await company.addModel(model));
    const ids: number[] = [];
    for (let i = 0; i < 3; i++) {
      const started_at = iso(billing.clock.now().add({ hours: roll(24 * 80) - 24 * 70 }));
      const life = { started_at, billing_anchor_day: pick(roll, [1, 15, 31]) };
      ids.push(await company.subscribe(pick(roll, plans), life));
    }
    const log: string[] = [];
    try {
      for (let step = 0; step < STEPS; step++) {
        await goOn(company, roll);
        const id = pick(roll, ids);
        if (roll(2) === 0) await use(company, roll, id);
        log.push(await change(company, roll, plans, id));
      }
      for (const id of ids) billed += Number(await expectBilled(company, id));
    } catch (error) {
      throw new Error(`The history of seed ${FUZZ_SEED + round} does not hold:\n${log.join("\n")}`, {
        cause: error,
      });
    }
  }
  expect(billed).toBeGreaterThan(0);
});
