import type { Static } from "@sinclair/typebox";
import { createAlert } from "../../entitlements/alerts/service.ts";
import type { SetEntitlement } from "../../entitlements/grants/model.ts";
import { setEntitlement } from "../../entitlements/grants/service.ts";
import type { CreateAlert } from "../../entitlements/alerts/model.ts";
import { setSpendLimit } from "../../entitlements/spend_limits/service.ts";
import { findLine, type Plot } from "./plot.ts";

/** The most that subscriptions may come to in a month, and who said so: the company, or the client itself. */
const SPEND_LIMITS = [
  { who: "manager", external_id: "tanjung-chat-2", amount: "1200", hard: false },
  { who: "manager", external_id: "rimba-chat-1", amount: "150", hard: true },
  { who: "manager", external_id: "orkid-chat-1", amount: "250", hard: false },
  { who: "nadia@tanjung.example", external_id: "tanjung-chat-2", amount: "900", hard: false },
  { who: "farah@lazuli.example", external_id: "lazuli-chat-1", amount: "2500", hard: false },
];

/** What some subscriptions have in the place of their plan's. */
const ENTITLEMENTS: readonly (Omit<SetEntitlement, "id"> & { external_id: string })[] = [
  { external_id: "kancil-chat-2", code: "requests", limit: "250", window: "day", hard: false },
  {
    external_id: "bayu-chat-1",
    code: "output_tokens",
    limit: "400000",
    window: "week",
    per: "model",
    hard: false,
  },
];

/** Limits of subscriptions, and what people want to be told of. */
export function setLimits(plot: Plot): void {
  const { world, agenda, calendar } = plot;
  agenda.note(calendar.at(calendar.month(7, 14), "09:40"), async () => {
    for (const alert of alertsOf(plot)) await world.call("manager", createAlert, alert);
  });
  agenda.note(calendar.at(calendar.ago(62), "14:15"), async () => {
    for (const { who, external_id, ...limit } of SPEND_LIMITS)
      if (findLine(plot, external_id))
        await world.call(who, setSpendLimit, { id: world.id("subscription", external_id), ...limit });
    for (const { external_id, ...entitlement } of ENTITLEMENTS)
      if (findLine(plot, external_id))
        await world.call("manager", setEntitlement, {
          id: world.id("subscription", external_id),
          ...entitlement,
        });
  });
}

function alertsOf(plot: Plot): Static<typeof CreateAlert>[] {
  const { world } = plot;
  const plans = ["chat/scale", "chat/payg-2"].map((key) => world.id("plan", key));
  const of_tanjung = {
    name: "Tanjung's output",
    on: "usage" as const,
    meter_id: world.id("meter", "output_tokens"),
    thresholds: ["1000000", "5000000", "10000000"],
  };
  return [
    {
      name: "Requests of the day nearly used up",
      on: "limit",
      feature: "requests",
      thresholds: ["80", "95"],
    },
    { name: "Dear months", on: "spend", currency: "MYR", thresholds: ["500", "1500", "5000"] },
    {
      name: "Will be dear",
      on: "forecast",
      currency: "MYR",
      scope: { billing_model_ids: plans },
      thresholds: ["1000"],
    },
    ...(findLine(plot, "tanjung-chat-1")
      ? [{ ...of_tanjung, scope: { subscription_ids: [world.id("subscription", "tanjung-chat-1")] } }]
      : []),
  ];
}
