import { describe, expect, test } from "bun:test";
import { MANDATE_TRIGGERS } from "../../../src/emandate/mandates/model.ts";
import { STATES, useEmandateFixture } from "./fixtures.ts";

const emandate = useEmandateFixture();

/** What each action and scenario leads to from each state, by hand; everywhere else it is a conflict. */
const LEADS: Record<string, Partial<Record<string, string>>> = {
  authorize: { pending: "pending_authorization", failed: "pending_authorization" },
  suspend: { active: "suspended" },
  resume: { suspended: "active" },
  cancel: { pending: "cancelled", pending_authorization: "cancelled" },
  terminate: { active: "pending_termination", suspended: "pending_termination" },
  withdraw: { pending_termination: "active" },
  mandate_authorized: { pending_authorization: "pending_approval" },
  mandate_activated: { pending_approval: "active" },
  mandate_rejected: { pending_approval: "rejected" },
  mandate_cancelled_by_customer: {
    pending_authorization: "failed",
    active: "terminated",
    suspended: "terminated",
    pending_termination: "terminated",
  },
  mandate_terminated_by_bank: {
    active: "terminated",
    suspended: "terminated",
    pending_termination: "terminated",
  },
  mandate_expired: { active: "expired", suspended: "expired" },
};

describe.each(STATES)("a mandate that is %s", (state) => {
  async function pull(word: string, id: number): Promise<number> {
    const is_scenario = word.startsWith("mandate_");
    const path = is_scenario
      ? `/emandate/simulator/scenarios/${word}/run`
      : `/emandate/mandates/${id}/${word}`;
    const { status } = await emandate.service.api("POST", path, is_scenario ? { mandate_id: id } : {});
    return status;
  }

  test("takes what it may", async () => {
    for (const [word, goals] of Object.entries(LEADS)) {
      const goal = goals[state];
      if (goal === undefined) continue;
      const { id } = await emandate.mandateIn(state);
      expect([word, await pull(word, id)]).toEqual([word, word.startsWith("mandate_") ? 202 : 200]);
      expect([word, (await emandate.read(id)).status]).toEqual([word, goal]);
    }
  });

  test("refuses the rest, and stays as it is", async () => {
    const before = await emandate.mandateIn(state);
    for (const [word, goals] of Object.entries(LEADS)) {
      if (goals[state] === undefined) expect([word, await pull(word, before.id)]).toEqual([word, 409]);
    }
    expect(await emandate.read(before.id)).toEqual(before);
  });

  test("is amended only in force", async () => {
    const { id } = await emandate.mandateIn(state);
    const in_force = state === "active" || state === "suspended";
    const answer = await emandate.service.api("POST", `/emandate/mandates/${id}/amend`, { amount: "12.00" });
    expect(answer.status).toBe(in_force ? 202 : 409);
  });
});

test("the table above knows every trigger that somebody outside can pull", () => {
  // What only the scheme's answer to an end does is shown in actions.test.ts.
  const by_answer = ["termination_confirmed", "termination_refused"];
  expect(Object.keys(LEADS).length + by_answer.length).toBe(MANDATE_TRIGGERS.length);
});
