import { beforeAll, expect, test } from "bun:test";
import * as fc from "fast-check";
import { type Json, useService } from "../../support/harness.ts";
import { propertyCases } from "../../support/properties.ts";
import { exchange } from "../../access/api_keys/fixtures.ts";
import { EVIDENCE, publish } from "../consents/fixtures.ts";
import { upload } from "../documents/fixtures.ts";
import { addDraft, addProgram, APPLICATION, done, type Loans, OFFER, openLoans } from "./fixtures.ts";

// Two companies, each in both environments. One company has a second agent in one of them.

let fixtures: Environments[];

interface Environments extends Loans {
  name: string;
  /** The environment's own programs and applications. */
  programs: number[];
  applications: number[];
  /** Applications of other agents in the same environment: its lender's, not its agent's. */
  others: number[];
  /** The ids of its own records, one of each kind. */
  records: Record<Kind, number>;
}
type Kind = "programs" | "consent-definitions" | "documents" | "consents";

async function openEnvironments(name: string, loans: Loans): Promise<Environments> {
  const program = await addProgram(loans);
  const { id } = await addDraft(loans, program.id);
  const definition_id = (await publish(loans)).id;
  const consents = await done(
    loans.agent("POST", `/agent/applications/${id}/consents`, { definition_id, evidence: EVIDENCE }),
  );
  const { token } = (await exchange(service, loans.agent_key)).body;
  const documents = await done(upload(service, token, id));
  const records = {
    programs: program.id,
    "consent-definitions": definition_id,
    documents: documents.id,
    consents: consents.id,
  };
  return { ...loans, name, programs: [program.id], applications: [id], others: [], records };
}

const service = useService();

beforeAll(async () => {
  const tenants = { first: service, second: await service.addTenant() };
  fixtures = [];
  for (const [name, tenant] of Object.entries(tenants))
    for (const environment of ["staging", "production"])
      fixtures.push(
        await openEnvironments(`${name} ${environment}`, await openLoans(service, tenant, environment)),
      );
});

/** A call on one record of another environment or company, or of one's own. */
type Call = readonly [method: string, suffix: string, body: object | undefined];
const AGENT_CALLS: readonly Call[] = [
  ["GET", "", undefined],
  ["GET", "/documents", undefined],
  ["GET", "/consents", undefined],
  ["PUT", "", { amount: "2000.00" }],
  ["POST", "/submit", undefined],
  ["POST", "/withdraw", undefined],
  ["POST", "/accept", undefined],
  ["POST", "/decline", undefined],
];
const LENDER_CALLS: readonly Call[] = [
  ["GET", "", undefined],
  ["GET", "/documents", undefined],
  ["GET", "/consents", undefined],
  ["POST", "/review", undefined],
  ["POST", "/request-action", { items: [{ kind: "field", code: "purpose" }] }],
  ["POST", "/approve", OFFER],
  ["POST", "/reject", { reason_code: "other" }],
  ["POST", "/disburse", { reference: "R" }],
];
const RECORD_CALLS: readonly (readonly [side: "agent" | "lender", kind: Kind, ...Call])[] = [
  ["lender", "programs", "GET", "", undefined],
  ["agent", "programs", "GET", "", undefined],
  ["lender", "programs", "PUT", "", { name: "Renamed" }],
  ["lender", "programs", "POST", "/activate", undefined],
  ["lender", "consent-definitions", "GET", "", undefined],
  ["lender", "consent-definitions", "PUT", "", { title: "Renamed" }],
  ["lender", "consent-definitions", "POST", "/publish", undefined],
  ["lender", "consent-definitions", "POST", "/versions", {}],
  ["lender", "documents", "GET", "", undefined],
  ["lender", "documents", "POST", "/verify", undefined],
  ["lender", "documents", "POST", "/reject", { reason_code: "blurry" }],
  ["agent", "consents", "POST", "/revoke", undefined],
];

type Step =
  | { do: "apply"; by: number; to: number }
  | { do: "agent" | "lender"; by: number; of: number; nth: number; call: number }
  | { do: "consent"; by: number; of: number }
  | { do: "record"; by: number; of: number; call: number };

const environments = fc.nat({ max: 3 });
const some_step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("apply" as const), by: environments, to: environments }),
  fc.record({
    do: fc.constantFrom("agent" as const, "lender" as const),
    by: environments,
    of: environments,
    nth: fc.nat(),
    call: fc.nat({ max: AGENT_CALLS.length * LENDER_CALLS.length - 1 }),
  }),
  fc.record({ do: fc.constant("consent" as const), by: environments, of: environments }),
  fc.record({
    do: fc.constant("record" as const),
    by: environments,
    of: environments,
    call: fc.nat({ max: RECORD_CALLS.length - 1 }),
  }),
);

const at = <T>(list: readonly T[], index: number): T => {
  const found = list[index % list.length];
  if (found === undefined) throw new Error("Nothing there");
  return found;
};

async function take(step: Step): Promise<void> {
  const caller = at(fixtures, step.by);
  if (step.do === "apply") {
    const owner = at(fixtures, step.to);
    const sent = { ...APPLICATION, program_id: at(owner.programs, 0) };
    const { status, body } = await caller.agent("POST", "/agent/applications", sent);
    expect(status).toBe(caller === owner ? 201 : 422);
    if (status === 201) caller.applications.push(body.data.id);
    return;
  }
  const owner = at(fixtures, step.of);
  if (step.do === "consent") {
    const definition_id = owner.records["consent-definitions"];
    const path = `/agent/applications/${at(caller.applications, 0)}/consents`;
    const { status } = await caller.agent("POST", path, { definition_id, evidence: EVIDENCE });
    // Of one's own it was granted already, unless it was taken back; the application may have ended.
    if (caller === owner) expect([201, 409]).toContain(status);
    else expect([422, 409]).toContain(status);
    return;
  }
  if (step.do === "record") {
    const [side, kind, method, suffix, body] = at(RECORD_CALLS, step.call);
    expectOwn(
      await caller[side](method, `/${side}/${kind}/${owner.records[kind]}${suffix}`, body),
      caller === owner,
    );
    return;
  }
  const [method, suffix, body] = at(step.do === "agent" ? AGENT_CALLS : LENDER_CALLS, step.call);
  const path = `/${step.do}/applications/${at(owner.applications, step.nth)}${suffix}`;
  expectOwn(await caller[step.do](method, path, body), caller === owner);
}

/** Another environment's record is not there; one's own is, whatever its state allows. */
function expectOwn({ status, body }: Json, is_own: boolean): void {
  if (is_own) expect([200, 201, 409]).toContain(status);
  else expect([status, body.error]).toEqual([404, expect.stringMatching(/ \d+ not found$/)]);
}

test("whatever is called in whatever order, no environment sees or changes another's records", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(some_step, { minLength: 5, maxLength: 25 }), async (steps) => {
      for (const step of steps) await take(step);
      for (const { name, agent, lender, programs, applications, others } of fixtures) {
        const ids = async (answer: Promise<Json>) =>
          (await answer).map(({ id }: Json) => id).toSorted((a: number, b: number) => a - b);
        const everything = [...applications, ...others].toSorted((a, b) => a - b);
        expect([name, await ids(done(lender("GET", "/lender/programs")))]).toEqual([name, programs]);
        expect([name, await ids(done(agent("GET", "/agent/programs")))]).toEqual([name, programs]);
        const mine = await ids(done(agent("GET", "/agent/applications?limit=200")));
        expect([name, mine]).toEqual([name, applications.slice(-200)]);
        const came_in = await ids(done(lender("GET", "/lender/applications?limit=200")));
        expect([name, came_in.filter((id: number) => !everything.includes(id))]).toEqual([name, []]);
        // Each environment has texts of one code, which no other has.
        for (const texts of [
          lender("GET", "/lender/consent-definitions"),
          agent("GET", "/agent/consent-definitions"),
        ])
          expect([name, new Set((await done(texts)).map(({ code }: Json) => code)).size]).toEqual([name, 1]);
      }
    }),
    propertyCases(12),
  );
});

test("an agent sees no other agent's applications in its own environment; the lender sees both", async () => {
  const own = at(fixtures, 1);
  const other = await openLoans(service, service, "production");
  const { id } = await addDraft(other, at(own.programs, 0));
  own.others.push(id);
  for (const [method, suffix, body] of AGENT_CALLS)
    expectOwn(await own.agent(method, `/agent/applications/${id}${suffix}`, body), false);
  expect((await own.agent("DELETE", `/agent/applications/${id}`)).status).toBe(404);
  expect(own.name).toBe("first production");
  expect((await own.lender("GET", `/lender/applications/${id}`)).status).toBe(200);
});

test("a lender's token opens no agent's path, an agent's no lender's, a user's neither", async () => {
  const { lender, agent } = at(fixtures, 0);
  for (const [api, path] of [
    [lender, "/agent/applications"],
    [lender, "/agent/programs"],
    [agent, "/lender/applications"],
    [agent, "/lender/programs"],
    [service.api, "/lender/applications"],
    [service.api, "/agent/applications"],
    [service.api, "/lender/programs"],
    [service.api, "/agent/programs"],
  ] as const) {
    for (const suffix of ["", "/1"])
      expect([path + suffix, (await api("GET", path + suffix)).status]).toEqual([path + suffix, 403]);
    expect((await service.anonymous("GET", path)).status).toBe(401);
  }
});
