import { createWebhook, updateWebhook } from "../../webhooks/endpoints/service.ts";
import { Dispatcher } from "../../webhooks/deliveries/dispatcher.ts";
import { type System, urlOf } from "../receiver.ts";
import type { Plot } from "./plot.ts";

/** What is sent where. */
const ENDPOINTS: readonly { system: System; description: string; event_types: string[] }[] = [
  {
    system: "finance",
    description: "Bookkeeping",
    event_types: ["billing_record.*", "emandate.payment.*"],
  },
  {
    system: "crm",
    description: "Customer desk",
    event_types: ["client.*", "subscription.*", "billing_model_change.*", "credits.*", "alert.reached"],
  },
  { system: "lending", description: "Lending partner", event_types: ["application.*", "document.*"] },
];

/** Webhooks were set up so many days ago: as long as deliveries are kept. */
const DAYS_AGO = 28;

/** The systems that hear of events, and what was delivered to them. */
export class Webhooks {
  readonly #plot: Plot;
  readonly #dispatcher: Dispatcher;
  #is_set_up = false;

  constructor(plot: Plot) {
    this.#plot = plot;
    this.#dispatcher = new Dispatcher(plot.world.deps);
  }

  note(port: number): void {
    const { world, agenda, calendar } = this.#plot;
    agenda.note(calendar.at(calendar.ago(DAYS_AGO), "12:30"), async () => {
      // What happened before is of no endpoint.
      await this.#dispatcher.settle();
      for (const { system, ...endpoint } of ENDPOINTS)
        await world.call("admin", createWebhook, { url: urlOf(port, system), ...endpoint });
      const old = {
        url: urlOf(port, "finance"),
        event_types: ["*"],
        description: "Data warehouse, until last month",
      };
      const { id } = await world.call("admin", createWebhook, old);
      await world.call("admin", updateWebhook, { id, ...old, status: "disabled" });
      this.#is_set_up = true;
    });
  }

  /** Delivers what has happened. */
  async deliver(): Promise<void> {
    if (this.#is_set_up) await this.#dispatcher.settle();
  }
}
