import type { MandatePayment } from "../../emandate/payments/model.ts";
import { amendMandate, authorizeMandate, terminateMandate } from "../../emandate/mandates/request_service.ts";
import {
  cancelMandate,
  createMandate,
  listMandates,
  resumeMandate,
  suspendMandate,
} from "../../emandate/mandates/service.ts";
import { updateEmandateConfig } from "../../emandate/merchant_config/service.ts";
import { cancelMandatePayment, createMandatePayment } from "../../emandate/payments/service.ts";
import { createEmandateProduct, updateEmandateProduct } from "../../emandate/products/service.ts";
import { runScenario } from "../../emandate/results/service.ts";
import { Bank } from "../bank.ts";
import { type Fate, type Habit, type Payer, PAYERS } from "../cast/payers.ts";
import type { Call } from "../world.ts";
import type { Plot } from "./plot.ts";

const PRODUCTS = {
  MEMBER: { product_name: "Membership", max_amount: "500", max_no_debit: "4", frequency: "Monthly" },
  WEEKLY: { product_name: "By the week", max_amount: "100", max_no_debit: "3", frequency: "Weekly" },
  YEARLY: { product_name: "By the year", max_amount: "2000", max_no_debit: "2", frequency: "Yearly" },
} as const;

/** Holidays that are on the same day each year; the company enters the others. */
const HOLIDAYS = ["01-01", "05-01", "08-31", "09-16", "12-25"];

/** Mandates and their debits, answered by the sandbox's banks. */
export function collectDebits(plot: Plot): void {
  const { world, agenda, calendar } = plot;
  const habits = new Map<number, Habit>();
  const call: Call = (operation, input) => world.call("manager", operation, input);
  const bank = new Bank(habits, call);
  agenda.note(calendar.at(calendar.start.subtract({ days: 30 }), "14:00"), () => setUp(plot));
  for (const payer of PAYERS) giveMandate(plot, payer, habits);
  const days = calendar.daysTo(calendar.today);
  for (let i = 0; i <= days; i++) {
    const day = calendar.start.add({ days: i });
    agenda.note(calendar.at(day, "08:10"), async () => {
      for (const payment of await bank.answer(world.clock.now())) noteReturn(plot, bank, payment);
    });
    if (day.dayOfWeek === 1) agenda.note(calendar.at(day, "08:50"), () => resumeSettled(plot));
  }
  pauseCollecting(plot);
  debitByHand(plot);
}

async function setUp({ world, calendar }: Plot): Promise<void> {
  const years = [calendar.start.year, calendar.start.year + 1, calendar.start.year + 2];
  await world.call("admin", updateEmandateConfig, {
    suspend_after_failures: 2,
    holidays: years.flatMap((year) => HOLIDAYS.map((day) => `${year}-${day}`)),
  });
  for (const [product_code, product] of Object.entries(PRODUCTS)) {
    const { id } = await world.call("manager", createEmandateProduct, { product_code, ...product });
    world.name("debit_product", product_code, id);
  }
  const pilot = {
    product_code: "PILOT",
    product_name: "Pilot",
    max_amount: "50",
    frequency: "Monthly",
  } as const;
  const { id } = await world.call("manager", createEmandateProduct, pilot);
  await world.call("manager", updateEmandateProduct, { id, ...pilot, is_active: false });
}

/** The customer's way from the request to the first debit, or to where it ends. */
function giveMandate(plot: Plot, payer: Payer, habits: Map<number, Habit>): void {
  const { world, agenda, calendar } = plot;
  const { name, email, bank, product, amount, month, habit, fate } = payer;
  const day = month < 12 ? calendar.month(month, 3 + (month % 2)) : calendar.ago(1);
  agenda.note(calendar.at(day, "11:30"), async () => {
    const { id } = await world.call("manager", createMandate, {
      customer_name: name,
      customer_email: email,
      customer_phone: `012-${1_000_000 + world.roll(8_999_999)}`,
      ...(product === null ? {} : { emandate_product_id: world.id("debit_product", product) }),
      ...(amount === null ? {} : { bankscheme_txn_amount: amount }),
    });
    world.name("mandate", email, id);
    habits.set(id, habit);
    if (fate === "new" || fate === "waiting") return;
    if (fate === "cancelled") {
      await world.call("manager", cancelMandate, { id });
      return;
    }
    await world.call("manager", authorizeMandate, { id, bank_code: bank });
    if (fate === "not_authorized") return;
    await play(plot, "mandate_authorized", id);
    if (fate === "approving") return;
    await play(plot, fate === "rejected" ? "mandate_rejected" : "mandate_activated", id);
  });
  const end = fate && LATER[fate];
  if (end) agenda.note(end.at(plot), () => end.act(plot, world.id("mandate", email), bank));
}

function play({ world }: Plot, name: string, mandate_id: number): Promise<unknown> {
  return world.call("manager", runScenario, { name, mandate_id });
}

/** What happens to some mandates later, and when. */
const LATER: Partial<
  Record<
    Fate,
    {
      at: (plot: Plot) => Temporal.ZonedDateTime;
      act: (plot: Plot, id: number, bank: string) => Promise<unknown>;
    }
  >
> = {
  terminated: {
    at: ({ calendar }) => calendar.at(calendar.ago(64), "15:00"),
    act: ({ world }, id) => world.call("manager", terminateMandate, { id, reason: "Membership ended" }),
  },
  ended_by_bank: {
    at: ({ calendar }) => calendar.at(calendar.ago(38), "16:00"),
    act: (plot, id) => play(plot, "mandate_terminated_by_bank", id),
  },
  expired: {
    at: ({ calendar }) => calendar.at(calendar.ago(45), "10:00"),
    act: ({ world, calendar }, id) =>
      world.call("manager", amendMandate, { id, expiry_date: calendar.ago(15).toString() }),
  },
  suspended: {
    at: ({ calendar }) => calendar.at(calendar.ago(8), "13:00"),
    act: ({ world }, id) => world.call("manager", suspendMandate, { id, reason: "On a journey" }),
  },
  waiting: {
    at: ({ calendar }) => calendar.now.subtract({ minutes: 50 }),
    act: ({ world }, id, bank_code) => world.call("manager", authorizeMandate, { id, bank_code }),
  },
};

/** Money that comes back after it was reported paid. */
function noteReturn({ world, agenda, calendar }: Plot, bank: Bank, payment: MandatePayment): void {
  const name = bank.laterOf(payment);
  if (name === null) return;
  const at = world.clock.now().toZonedDateTimeISO(calendar.now.timeZoneId).add({ days: 9 });
  agenda.note(at, () => world.call("manager", runScenario, { name, payment_id: payment.id }));
}

/** Mandates that were suspended since debits failed go on once their customers have settled. */
async function resumeSettled({ world, calendar }: Plot): Promise<void> {
  const now = world.clock.now();
  const is_late = Temporal.Instant.compare(now, calendar.at(calendar.ago(10)).toInstant()) > 0;
  if (is_late) return;
  const week_ago = now.subtract({ hours: 7 * 24 });
  const { data } = await world.call("manager", listMandates, { status: "suspended" }, { origin: "job" });
  for (const { id, updated_at } of data)
    if (Temporal.Instant.compare(updated_at, week_ago) < 0)
      await world.call("manager", resumeMandate, { id, reason: "Settled by phone" });
}

/** For a fortnight nothing was collected: what fell due then is skipped. */
function pauseCollecting({ world, agenda, calendar }: Plot): void {
  const set = (day: Temporal.PlainDate, auto_collect: boolean) =>
    agenda.note(calendar.at(day, "17:00"), () => world.call("admin", updateEmandateConfig, { auto_collect }));
  set(calendar.month(6, 8), false);
  set(calendar.month(6, 23), true);
}

function debitByHand({ world, agenda, calendar }: Plot): void {
  const mandateOf = (name: string) =>
    world.id("mandate", PAYERS.find((payer) => payer.name === name)?.email ?? name);
  const debit = (name: string, terms: { amount: string; description: string; due_date?: string }) =>
    world.call("manager", createMandatePayment, { id: mandateOf(name), ...terms });
  // Its bank says nothing: after two days somebody has to ask.
  agenda.note(calendar.at(calendar.ago(47), "12:00"), () =>
    debit("Grace Tiong", { amount: "120.00", description: "Workshop" }),
  );
  agenda.note(calendar.at(calendar.ago(2), "10:00"), async () => {
    const due_date = calendar.today.add({ days: 9 }).toString();
    await debit("Yap Siew Ling", { amount: "60.00", description: "Guest pass", due_date });
    const { id } = await debit("Irene Fong", { amount: "60.00", description: "Guest pass", due_date });
    await world.call("manager", cancelMandatePayment, { id });
  });
  agenda.note(calendar.now.subtract({ minutes: 25 }), async () => {
    await debit("Grace Tiong", { amount: "80.00", description: "Refill" });
    const { id } = await debit("Ng Kok Wai", { amount: "45.00", description: "Locker" });
    await world.call("manager", runScenario, { name: "payment_insufficient_funds", payment_id: id });
  });
}
