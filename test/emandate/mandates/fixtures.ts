import { expect } from "bun:test";
import { JOBS, runJob } from "../../../src/server/scheduler.ts";
import { type Api, type House, type Json, startHouse, TestClock, useService } from "../../support/harness.ts";

/** A house with a clock of its own, and what a company does with mandates in it. */
export interface World {
  house: House;
  clock: TestClock;
  /** Moves the clock on by so much, and does what time starts. */
  pass(duration: Temporal.DurationLike): Promise<void>;
  /** Makes a mandate; its customer's name is as told. */
  mandate(name?: string, more?: object, api?: Api): Promise<Json>;
  /** A mandate as its detail has it. */
  read(id: number): Promise<Json>;
  /** Acts on a mandate, and expects the status. */
  act(id: number, action: string, body?: object, status?: number): Promise<Json>;
  scenario(name: string, subject: object, status?: number): Promise<Json>;
  /** Makes a mandate and brings it to a state. */
  mandateIn(status: keyof typeof WAYS): Promise<Json>;
}

/** How a mandate gets into a state: actions, and scenarios where a name has an underscore. */
const WAYS = {
  pending: [],
  pending_authorization: ["authorize"],
  pending_approval: ["authorize", "mandate_authorized"],
  active: ["authorize", "mandate_authorized", "mandate_activated"],
  suspended: ["authorize", "mandate_authorized", "mandate_activated", "suspend"],
  pending_termination: ["authorize", "mandate_authorized", "mandate_activated", "terminate"],
  failed: ["authorize", "mandate_cancelled_by_customer"],
  rejected: ["authorize", "mandate_authorized", "mandate_rejected"],
  cancelled: ["cancel"],
  terminated: ["authorize", "mandate_authorized", "mandate_activated", "mandate_terminated_by_bank"],
  expired: ["authorize", "mandate_authorized", "mandate_activated", "mandate_expired"],
} as const;

export const STATES = Object.keys(WAYS).map((state) => {
  if (!Object.hasOwn(WAYS, state)) throw new Error(state);
  return state as keyof typeof WAYS;
});

const BY_TIME = ["mandate_orders", "mandates_expire"];

/** A world for the tests of a file. */
export function useWorld(now = "2026-03-10T04:00:00Z"): World {
  const clock = new TestClock(now);
  return worldOf(useService({ clock }), clock);
}

export async function openWorld(now = "2026-03-10T04:00:00Z"): Promise<World> {
  const clock = new TestClock(now);
  return worldOf(await startHouse({ clock }), clock);
}

/** What a company does with mandates in a house. */
export function worldOf(house: House, clock: TestClock): World {
  let customers = 0;

  const mandate: World["mandate"] = async (name = "Ahmad bin Ali", more = {}, api = house.api) => {
    const customer = { customer_name: name, customer_email: `c${++customers}@example.com` };
    const answer = await api("POST", "/emandate/mandates", { ...customer, ...more });
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.data;
  };
  const act: World["act"] = async (id, action, body = {}, status = 200) => {
    const answer = await house.api("POST", `/emandate/mandates/${id}/${action}`, body);
    expect([action, answer.status]).toEqual([action, status]);
    return answer.body.data ?? answer.body;
  };
  const scenario: World["scenario"] = async (name, subject, status = 202) => {
    const answer = await house.api("POST", `/emandate/simulator/scenarios/${name}/run`, subject);
    expect([name, answer.status]).toEqual([name, status]);
    return answer.body.data ?? answer.body;
  };
  const read: World["read"] = async (id) => (await house.api("GET", `/emandate/mandates/${id}`)).body.data;
  return {
    house,
    clock,
    mandate,
    act,
    scenario,
    read,
    async pass(duration) {
      clock.set(clock.now().toZonedDateTimeISO("UTC").add(duration).toInstant().toString());
      for (const name of BY_TIME) {
        const job = JOBS.find((one) => one.name === name);
        if (!job) throw new Error(`No job ${name}`);
        await runJob(house.deps, job);
      }
    },
    async mandateIn(status) {
      const { id } = await mandate();
      for (const step of WAYS[status]) {
        if (step.startsWith("mandate_")) await scenario(step, { mandate_id: id });
        else await act(id, step);
      }
      const found = await read(id);
      expect(found.status).toBe(status);
      return found;
    },
  };
}
