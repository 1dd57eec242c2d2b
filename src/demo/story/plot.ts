import type { Agenda } from "../agenda.ts";
import type { Calendar } from "../calendar.ts";
import type { ClientPlan } from "../cast/clients.ts";
import type { Line } from "../cast/subscriptions.ts";
import type { World } from "../world.ts";

/** What every part of the story works with. */
export interface Plot {
  world: World;
  agenda: Agenda;
  calendar: Calendar;
  clients: readonly ClientPlan[];
  lines: readonly Line[];
  /** The password of all who sign in. */
  password: string;
}

/** The line of this external id, where it is in the cast: a small demo leaves out most clients. */
export function findLine({ lines }: Plot, external_id: string): Line | undefined {
  return lines.find((line) => line.external_id === external_id);
}
