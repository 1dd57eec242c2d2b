import { createClient } from "../../billing/clients/service.ts";
import { createSubscription } from "../../billing/subscriptions/service.ts";
import { CLIENT_USERS } from "../cast/company.ts";
import type { Line } from "../cast/subscriptions.ts";
import { addPerson } from "./founding.ts";
import type { Plot } from "./plot.ts";

/** Contracts are signed so long before they begin: longer than any stretch of usage that is stored at once. */
const DAYS_AHEAD = 18;

/** Clients come, with their people, and subscribe. */
export function winClients(plot: Plot): void {
  const { world, agenda, calendar, clients, lines, password } = plot;
  for (const { key, name, joins } of clients) {
    const first = calendar.month(joins);
    agenda.note(calendar.at(first.subtract({ days: 22 + world.roll(5) }), "10:30"), async () => {
      world.name("client", key, (await world.call("manager", createClient, { name })).id);
      const people = CLIENT_USERS.filter(({ client }) => client === key);
      for (const person of people) await addPerson(world, person.email, person, password);
    });
  }
  for (const line of lines)
    agenda.note(calendar.at(line.from.subtract({ days: DAYS_AHEAD }), "15:00"), () => subscribe(plot, line));
}

async function subscribe({ world }: Plot, line: Line): Promise<void> {
  const { external_id, name, client, product, plan, from, anchor_day } = line;
  const { id } = await world.call("manager", createSubscription, {
    name,
    external_subscription_id: external_id,
    client_id: world.id("client", client),
    product_id: world.id("product", product),
    billing_model_id: world.id("plan", plan),
    started_at: from.toString(),
    billing_anchor_day: anchor_day,
  });
  world.name("subscription", external_id, id);
}
