import { createApiKey, revokeApiKey, rotateApiKey } from "../../access/api_keys/service.ts";
import type { Environment, KeyRole } from "../../core/access.ts";
import type { World } from "../world.ts";
import type { Plot } from "./plot.ts";

/** A machine's key; `month`: of the past in which it was made, -1 before all. */
interface KeyPlan {
  name: string;
  role: KeyRole;
  environment: Environment;
  month: number;
}

/** The company's machines. */
export const KEYS = {
  gateway: { name: "API gateway", role: "ingest", environment: "production", month: -1 },
  checks: { name: "Limits at the gateway", role: "gateway", environment: "production", month: 2 },
  core: { name: "Core banking", role: "lender", environment: "production", month: 3 },
  partner: { name: "Pasar Kredit, partner site", role: "agent", environment: "production", month: 3 },
  broker: { name: "Rakan Broker", role: "agent", environment: "production", month: 5 },
  trial: { name: "Partner site, trial", role: "agent", environment: "staging", month: 3 },
  trial_lender: { name: "Core banking, trial", role: "lender", environment: "staging", month: 3 },
} as const satisfies Record<string, KeyPlan>;

/** API keys: made, used, rotated, revoked. */
export function giveKeys(plot: Plot): void {
  const { world, agenda, calendar } = plot;
  for (const [key, { name, role, environment, month }] of Object.entries<KeyPlan>(KEYS)) {
    const day = month < 0 ? calendar.start.subtract({ days: 36 }) : calendar.month(month, 2);
    agenda.note(calendar.at(day, "09:30"), async () => {
      const { id } = await world.call("admin", createApiKey, { name, role, environment });
      enterKey(world, key, { id, role, environment });
    });
  }
  agenda.note(calendar.at(calendar.month(4, 11), "10:00"), async () => {
    const { id } = await world.call("admin", createApiKey, {
      name: "Old importer",
      role: "ingest",
      environment: "production",
    });
    world.name("key", "importer", id);
  });
  agenda.note(calendar.at(calendar.month(9, 3), "11:00"), () =>
    world.call("admin", revokeApiKey, { id: world.id("key", "importer") }),
  );
  agenda.note(calendar.at(calendar.ago(1), "09:00"), () =>
    world.call("admin", rotateApiKey, { id: world.id("key", "checks"), grace_hours: 168 }),
  );
}

function enterKey(
  world: World,
  key: string,
  { id, role, environment }: { id: number; role: KeyRole; environment: Environment },
): void {
  world.name("key", key, id);
  const { company_id } = world;
  world.enter(key, { kind: "key", key_id: id, agent_key_id: id, company_id, role, environment });
}
