import {
  cancelBillingModelChange,
  createBillingModelChange,
  voidBillingModelChange,
} from "../../billing/billing_model_changes/service.ts";
import { createBillingModelMigration } from "../../billing/billing_model_migrations/service.ts";
import { saveBillingProfile } from "../../billing/billing_profiles/service.ts";
import { listCredits } from "../../billing/credits/list_credits.ts";
import { downgradeSubscription, upgradeSubscription } from "../../billing/credits/service.ts";
import { upgradeOwnSubscription } from "../../billing/self_service/service.ts";
import {
  addSubscriptionAddOn,
  changeSubscriptionAddOn,
  removeSubscriptionAddOn,
} from "../../billing/subscription_add_ons/service.ts";
import { cancelSubscription } from "../../billing/subscriptions/service.ts";
import { CLIENT_USERS } from "../cast/company.ts";
import { findLine, type Plot } from "./plot.ts";
import type { Routine } from "./routine.ts";

/** What becomes of subscriptions: other plans, add-ons, ends. */
export function liveOn(plot: Plot, routine: Routine): void {
  changePrices(plot);
  upgradeWhenUsedUp(plot, routine);
  bookAddOns(plot);
  billInBetween(plot);
  endSubscriptions(plot, routine);
}

/** Notes something about a subscription, where the cast has it. */
function about(
  plot: Plot,
  external_id: string,
  at: Temporal.ZonedDateTime,
  act: (id: number) => Promise<unknown>,
): void {
  if (findLine(plot, external_id) === undefined) return;
  plot.agenda.note(at, () => act(plot.world.id("subscription", external_id)));
}

function changePrices(plot: Plot): void {
  const { world, agenda, calendar } = plot;
  const change = (external_id: string, at: Temporal.ZonedDateTime, plan: string, effective_at: string) =>
    about(plot, external_id, at, async (id) => {
      const new_billing_model_id = world.id("plan", plan);
      await world.call("manager", createBillingModelChange, { id, new_billing_model_id, effective_at });
    });
  // Agreed on late: months that are billed already get adjustments.
  const agreed = calendar.at(calendar.month(8, 9), "11:20");
  for (const external_id of ["orkid-chat-1", "rimba-chat-1", "meranti-chat-2"])
    change(external_id, agreed, "chat/payg-2", calendar.month(7).toString());
  change(
    "tanjung-chat-1",
    calendar.at(calendar.month(6, 12), "09:45"),
    "chat/platform-tanjung",
    "next_period",
  );
  const corrected = calendar.at(calendar.month(11, 3), "15:10");
  change("firasat-chat-2", corrected, "chat/scale", calendar.month(10, 12).toString());
  // To come.
  change("bayu-chat-2", calendar.at(calendar.ago(6), "16:05"), "chat/scale-usd", "next_period");
  change("rimba-chat-2", calendar.at(calendar.ago(3), "10:05"), "chat/payg-2", "next_period");

  agenda.note(calendar.at(calendar.month(9, 20), "17:00"), () =>
    world.call("manager", createBillingModelMigration, {
      from_billing_model_id: world.id("plan", "chat/payg"),
      to_billing_model_id: world.id("plan", "chat/payg-2"),
      at: "next_period",
    }),
  );
  takeBackChanges(plot);
}

/** One that was a mistake, and one that was thought better of. */
function takeBackChanges(plot: Plot): void {
  const { world, calendar } = plot;
  const team = () => world.id("plan", "chat/team");
  about(plot, "damai-chat", calendar.at(calendar.month(8, 4), "14:30"), async (id) => {
    const effective_at = calendar.month(7, 20).toString();
    const made = { id, new_billing_model_id: team(), effective_at };
    const change = await world.call("second_manager", createBillingModelChange, made);
    await world.call("manager", voidBillingModelChange, { id, changeId: change.id });
  });
  about(plot, "pulau-chat", calendar.at(calendar.ago(9), "12:10"), async (id) => {
    const made = { id, new_billing_model_id: team(), effective_at: "next_period" };
    const change = await world.call("manager", createBillingModelChange, made);
    await world.call("manager", cancelBillingModelChange, { id, changeId: change.id });
  });
}

/** The next larger credit plan. */
const LARGER: Readonly<Record<string, string>> = {
  "chat/credits": "chat/growth",
  "chat/growth": "chat/business",
};
/** Who stays with its plan, and pays for what is over it. */
const CONTENT = new Set(["orkid-chat-2", "jati-chat", "zamrud-chat"]);

function upgradeWhenUsedUp(plot: Plot, routine: Routine): void {
  const { world, agenda, calendar } = plot;
  const plans = new Map<string, string>();
  routine.afterUsage(async (day) => {
    const { data } = await world.call(
      "manager",
      listCredits,
      { reached: 100, limit: 100 },
      { origin: "job" },
    );
    for (const { external_subscription_id: external_id } of data) {
      const line = findLine(plot, external_id);
      const larger = line && LARGER[plans.get(external_id) ?? line.plan];
      if (line === undefined || larger === undefined || CONTENT.has(external_id)) continue;
      plans.set(external_id, larger);
      agenda.note(calendar.at(day, `10:${10 + world.roll(40)}`), async () => {
        const id = world.id("subscription", external_id);
        const change = { id, new_billing_model_id: world.id("plan", larger) };
        const own = CLIENT_USERS.find(({ client }) => client === line.client);
        const allowed = Temporal.PlainDate.compare(day, calendar.month(5)) >= 0;
        if (own && allowed) await world.call(own.email, upgradeOwnSubscription, change);
        else await world.call("manager", upgradeSubscription, change);
      });
    }
  });
  about(plot, "teratai-chat-1", calendar.at(calendar.ago(2), "11:00"), async (id) => {
    if (plans.get("teratai-chat-1") === undefined) return;
    const new_billing_model_id = world.id("plan", "chat/credits");
    await world.call("manager", downgradeSubscription, { id, new_billing_model_id });
  });
}

function bookAddOns(plot: Plot): void {
  const { world, calendar } = plot;
  const book = (
    external_id: string,
    code: string,
    at: Temporal.ZonedDateTime,
    terms: { quantity?: string; from?: string; until?: string } = {},
  ) =>
    about(plot, external_id, at, async (id) => {
      const booked = { id, add_on_id: world.id("add_on", code), ...terms };
      world.name(
        "booking",
        `${external_id} ${code}`,
        (await world.call("manager", addSubscriptionAddOn, booked)).id,
      );
    });
  book("tanjung-chat-1", "seats", calendar.at(calendar.month(2, 8), "10:00"), { quantity: "12" });
  book("tanjung-chat-1", "guardrails", calendar.at(calendar.month(3, 1), "10:10"));
  book("straits-chat-1", "priority_usd", calendar.at(calendar.month(3, 17), "15:40"));
  book("rimba-chat-2", "seats", calendar.at(calendar.month(7, 2), "09:20"), { quantity: "4" });
  // Forgotten, and entered afterwards: bills that are written get adjustments.
  book("meranti-chat-1", "seats", calendar.at(calendar.month(9, 10), "13:00"), {
    quantity: "6",
    from: calendar.month(8, 3).toString(),
  });
  book("lazuli-chat-1", "priority", calendar.at(calendar.ago(75), "12:00"), {
    until: calendar.ago(30).toString(),
  });
  // More seats from a day on: the old booking ends there, or months that are billed would have them too.
  const more = calendar.ago(48).toString();
  about(plot, "tanjung-chat-1", calendar.at(calendar.ago(50), "11:00"), (id) =>
    world.call("manager", changeSubscriptionAddOn, {
      id,
      bookingId: world.id("booking", "tanjung-chat-1 seats"),
      until: more,
    }),
  );
  book("tanjung-chat-1", "seats", calendar.at(calendar.ago(50), "11:05"), { quantity: "20", from: more });
  book("sentosa-chat-2", "seats", calendar.at(calendar.ago(25), "10:00"), { quantity: "2" });
  about(plot, "sentosa-chat-2", calendar.at(calendar.ago(24), "09:00"), (id) =>
    world.call("manager", removeSubscriptionAddOn, {
      id,
      bookingId: world.id("booking", "sentosa-chat-2 seats"),
    }),
  );
}

/** A client whose usage is billed as soon as it has cost so much. */
function billInBetween(plot: Plot): void {
  const { world, agenda, calendar, clients } = plot;
  if (!clients.some(({ key }) => key === "straits")) return;
  agenda.note(calendar.at(calendar.month(6, 2), "16:00"), () =>
    world.call("manager", saveBillingProfile, {
      id: world.id("client", "straits"),
      interim_at: "120",
      currency: "USD",
    }),
  );
}

function endSubscriptions(plot: Plot, routine: Routine): void {
  const { world, calendar, lines } = plot;
  for (const { external_id, until } of lines) {
    if (until === null) continue;
    about(plot, external_id, calendar.at(until, "10:00"), (id) =>
      world.call("manager", cancelSubscription, { id, at: "now" }),
    );
    routine.billOn(until.add({ days: 1 }));
  }
  // Still running, until its period ends.
  about(plot, "harimau-chat-2", calendar.at(calendar.ago(1), "17:30"), (id) =>
    world.call("manager", cancelSubscription, { id, at: "period_end" }),
  );
}
