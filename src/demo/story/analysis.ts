import type { Static } from "@sinclair/typebox";
import { createForm } from "../../forms/service.ts";
import type { CreateForm } from "../../forms/model.ts";
import { createSimulation } from "../../billing/simulations/service.ts";
import type { CreateView } from "../../usage/views/model.ts";
import { createView } from "../../usage/views/service.ts";
import { PLANS } from "../cast/catalog.ts";
import type { Plot } from "./plot.ts";
import { runNow } from "./routine.ts";

/** Saved views; `who` saved them. */
const VIEWS: readonly (Static<typeof CreateView> & { who: string })[] = [
  {
    who: "manager",
    name: "Tokens by model, beside last month",
    shared: true,
    question: {
      range: { relative: "this_month" },
      group_by: "metadata:model",
      compare: { to: "before", align_weekdays: true },
    },
  },
  {
    who: "second_manager",
    name: "Largest clients of twelve months",
    shared: true,
    question: { range: { relative: "last_12_months" }, interval: "month", group_by: "client", top: 10 },
  },
  {
    who: "analyst",
    name: "Requests outside of Malaysia",
    shared: false,
    question: {
      range: { relative: "last_30d" },
      measure: "events",
      group_by: ["product", "metadata:region"],
      filters: [{ field: "metadata:region", op: "is_not", values: ["kul"] }],
    },
  },
  {
    who: "nadia@tanjung.example",
    name: "Our busiest people",
    shared: false,
    question: { range: { relative: "last_7d" }, group_by: "metadata:user", top: 20 },
  },
];

const FORMS: readonly (Omit<Static<typeof CreateForm>, "config"> & { who: string; config: object })[] = [
  {
    who: "nadia@tanjung.example",
    name: "Question to the shop",
    description: "Beside each article",
    config: {
      title: "Ask us about this article",
      fields: [
        { name: "name", label: "Your name", type: "text", required: true },
        { name: "email", label: "Your email", type: "email", required: true },
        {
          name: "shop",
          label: "Nearest shop",
          type: "select",
          options: ["Kuching", "Kuala Lumpur", "Penang"],
        },
        { name: "question", label: "Your question", type: "textarea", required: true },
      ],
    },
  },
  {
    who: "farah@lazuli.example",
    name: "Appointment",
    config: {
      title: "Ask for an appointment",
      fields: [
        { name: "patient", label: "Name of the patient", type: "text", required: true },
        { name: "phone", label: "Telephone", type: "tel", required: true },
        { name: "day", label: "Which day suits you?", type: "date" },
        { name: "first_visit", label: "This is my first visit", type: "checkbox" },
      ],
    },
  },
  {
    who: "hana@kancil.example",
    name: "Beta test",
    config: {
      title: "Play before everybody else",
      fields: [
        { name: "nick", label: "Your nick", type: "text", required: true },
        { name: "hours", label: "Hours of play a week", type: "number" },
      ],
    },
  },
];

/** What analysts and clients keep: views, prices that were tried, forms. */
export function analyse(plot: Plot): void {
  const { world, agenda, calendar, clients } = plot;
  const isThere = (who: string) => !who.includes("@") || world.hasActor(who);
  agenda.note(calendar.at(calendar.month(8, 12), "10:00"), async () => {
    for (const { who, ...view } of VIEWS) if (isThere(who)) await world.call(who, createView, view);
    for (const { who, ...form } of FORMS) if (isThere(who)) await world.call(who, createForm, form);
  });
  const last = calendar.today.subtract({ months: 1 }).toPlainYearMonth().toString();
  const first = calendar.today.subtract({ months: 3 }).toPlainYearMonth().toString();
  if (clients.length === 0) return;
  // After the bills of last month, so that none of them makes it out of date.
  agenda.note(calendar.now.subtract({ minutes: 12 }), async () => {
    const scale = PLANS.find(({ key }) => key === "chat/scale")?.model((code) => world.id("meter", code));
    if (scale === undefined) return;
    await world.call("analyst", createSimulation, {
      billing_model: {
        ...scale,
        name: "Scale, simpler",
        price: "190",
        usage_tiers: [{ up_to: null, unit_price: "0.000034" }],
      },
      of: { billing_model_id: world.id("plan", "chat/payg-2") },
      from: first,
      to: last,
    });
    await world.call("analyst", createSimulation, {
      billing_model_id: world.id("plan", "cost"),
      from: first,
      to: last,
    });
    await runNow(world, "simulations");
  });
}
