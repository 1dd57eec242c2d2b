import { expect } from "bun:test";
import {
  type Api,
  type Service,
  type Json,
  startService,
  TestClock,
  useService,
} from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";

/** A service with a clock of its own, and what a company does with mandates in it. */
export interface EmandateFixture {
  service: Service;
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

/** The fixture for the tests of a file. */
export function useEmandateFixture(now = "2026-03-10T04:00:00Z"): EmandateFixture {
  const clock = new TestClock(now);
  return emandateFixtureOf(useService({ clock }), clock);
}

export async function openEmandateFixture(now = "2026-03-10T04:00:00Z"): Promise<EmandateFixture> {
  const clock = new TestClock(now);
  return emandateFixtureOf(await startService({ clock }), clock);
}

/** What a company does with mandates in a service. */
export function emandateFixtureOf(service: Service, clock: TestClock): EmandateFixture {
  let customers = 0;

  const mandate: EmandateFixture["mandate"] = async (
    name = "Ahmad bin Ali",
    more = {},
    api = service.api,
  ) => {
    const customer = { customer_name: name, customer_email: `c${++customers}@example.com` };
    const answer = await api("POST", "/emandate/mandates", { ...customer, ...more });
    expect([answer.status, answer.body.error]).toEqual([201, undefined]);
    return answer.body.data;
  };
  const act: EmandateFixture["act"] = async (id, action, body = {}, status = 200) => {
    const answer = await service.api("POST", `/emandate/mandates/${id}/${action}`, body);
    expect([action, answer.status]).toEqual([action, status]);
    return answer.body.data ?? answer.body;
  };
  const scenario: EmandateFixture["scenario"] = async (name, subject, status = 202) => {
    const answer = await service.api("POST", `/emandate/simulator/scenarios/${name}/run`, subject);
    expect([name, answer.status]).toEqual([name, status]);
    return answer.body.data ?? answer.body;
  };
  const read: EmandateFixture["read"] = async (id) =>
    (await service.api("GET", `/emandate/mandates/${id}`)).body.data;
  return {
    service,
    clock,
    mandate,
    act,
    scenario,
    read,
    async pass(duration) {
      clock.set(clock.now().toZonedDateTimeISO("UTC").add(duration).toInstant().toString());
      for (const name of BY_TIME) await runNamedJob(service, name);
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
