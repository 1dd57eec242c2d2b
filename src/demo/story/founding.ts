import { createUser, listUsers, updateUser } from "../../access/users/service.ts";
import { addCompany } from "../../billing/companies/service.ts";
import type { Actor } from "../../core/access.ts";
import { COMPANY, type Person, STAFF, type StaffName } from "../cast/company.ts";
import type { World } from "../world.ts";
import type { Plot } from "./plot.ts";

/** How many days before its first client the company begins. */
const DAYS_BEFORE = 40;

/** The company and its people. */
export function foundCompany({ world, agenda, calendar, password }: Plot): void {
  agenda.note(calendar.at(calendar.start.subtract({ days: DAYS_BEFORE }), "09:00"), async () => {
    const { admin, ...others } = STAFF;
    const company = await world.call({ kind: "operator" }, addCompany, {
      ...COMPANY,
      admin_email: admin.email,
      admin_password: password,
    });
    world.company_id = company.id;
    const [found] = (await world.call(world.system, listUsers, {})).data;
    if (found === undefined) throw new Error("The company of the demo has no admin");
    const { email, name, role } = admin;
    await world.call(world.system, updateUser, { id: found.id, email, name, role });
    enter(world, "admin", found.id, admin);
    for (const [key, person] of Object.entries(others)) await addPerson(world, key, person, password);
  });
}

/** Adds somebody who signs in, and acts under this name from then on. */
export async function addPerson(world: World, name: string, person: Person, password: string): Promise<void> {
  const { client, ...fields } = person;
  const client_id = client === undefined ? null : world.id("client", client);
  const { id } = await world.call("admin", createUser, { ...fields, password, client_id });
  enter(world, name, id, person);
}

function enter(world: World, name: string, user_id: number, { email, role, client }: Person): void {
  const client_id = client === undefined ? null : world.id("client", client);
  const actor: Actor = { kind: "user", user_id, email, company_id: world.company_id, client_id, role };
  world.enter(name, actor);
  world.name("user", name, user_id);
}

/** Somebody who works on loans, in production. */
export function lender(world: World, name: StaffName): Actor {
  const actor = world.actor(name);
  return actor.kind === "user" ? { ...actor, environment: "production" } : actor;
}
