import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { AppError } from "../../../src/core/errors.ts";
import { iso } from "../../../src/core/time.ts";
import { APPLICATION_STATUSES } from "../../../src/loans/applications/model.ts";
import {
  arrival,
  expiryOf,
  FINAL_STATUSES,
  isFinal,
  nextStatus,
  transition,
  TRIGGERS,
} from "../../../src/loans/applications/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const NOW = Temporal.Instant.from("2026-11-21T10:00:00Z");

/** Columns: what is asked for. Rows: where the application is. Cells: where it leads; a dot is a refusal. */
const TABLE = `
                 edit            delete submit        review        request_action   lose_consent     approve   reject    accept    decline   disburse   withdraw   expire
draft            draft           draft  submitted     .             .                .                .         .         .         .         .          withdrawn  expired
submitted        .               .      .             under_review  .                action_required  .         .         .         .         .          withdrawn  .
under_review     .               .      .             .             action_required  action_required  approved  rejected  .         .         .          withdrawn  .
action_required  action_required .      under_review  .             .                .                .         .         .         .         .          withdrawn  expired
approved         .               .      .             .             .                .                .         .         accepted  declined  .          withdrawn  expired
accepted         .               .      .             .             .                .                .         .         .         .         disbursed  .          .
disbursed        .               .      .             .             .                .                .         .         .         .         .          .          .
rejected         .               .      .             .             .                .                .         .         .         .         .          .          .
declined         .               .      .             .             .                .                .         .         .         .         .          .          .
withdrawn        .               .      .             .             .                .                .         .         .         .         .          .          .
expired          .               .      .             .             .                .                .         .         .         .         .          .          .
`;

const [head = [], ...rows] = TABLE.trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/));

describe("states", () => {
  test("the table names every state and every trigger", () => {
    expect(head).toEqual([...TRIGGERS]);
    expect(rows.map(([status]) => status)).toEqual([...APPLICATION_STATUSES]);
  });

  for (const [index, status] of APPLICATION_STATUSES.entries()) {
    for (const [column, trigger] of TRIGGERS.entries()) {
      const leads = rows[index]?.[column + 1];
      test(`${status}, ${trigger}: ${leads === "." ? "refused" : leads}`, () => {
        expect<string>(nextStatus(status, trigger) ?? ".").toBe(leads ?? "");
        const application = { id: 7, status, expires_at: null };
        if (leads !== ".") {
          expect<string>(transition(application, trigger, NOW)).toBe(leads ?? "");
          return;
        }
        let refusal: unknown;
        try {
          transition(application, trigger, NOW);
        } catch (error) {
          refusal = error;
        }
        expect(refusal).toBeInstanceOf(AppError);
        expect(refusal).toMatchObject({ kind: "conflict" });
        expect(String(refusal)).toEndWith(`application 7: its status is ${status.replaceAll("_", " ")}`);
      });
    }
  }

  test("nothing leads out of a final state, and something out of every other", () => {
    const dead_ends = APPLICATION_STATUSES.filter((status) =>
      TRIGGERS.every((trigger) => nextStatus(status, trigger) === undefined),
    );
    expect(dead_ends.toSorted()).toEqual([...FINAL_STATUSES].toSorted());
    expect(APPLICATION_STATUSES.filter(isFinal)).toEqual(dead_ends);
  });

  test("every state is reached from a draft", () => {
    const reached = new Set<string>(["draft"]);
    for (const status of [...APPLICATION_STATUSES, ...APPLICATION_STATUSES])
      if (reached.has(status))
        for (const trigger of TRIGGERS) reached.add(nextStatus(status, trigger) ?? "draft");
    expect([...reached].toSorted()).toEqual([...APPLICATION_STATUSES].toSorted());
  });
});

describe("what runs out", () => {
  test.each(["draft", "action_required", "approved"] as const)(
    "from its instant on, an application in %s can only expire, before the job has marked it",
    (status) => {
      const at = (milliseconds: number) => ({
        id: 7,
        status,
        expires_at: iso(NOW.add({ milliseconds })),
      });
      for (const trigger of TRIGGERS) {
        const leads = nextStatus(status, trigger);
        if (leads === undefined) continue;
        expect(transition(at(1), trigger, NOW)).toBe(leads);
        const over = () => transition(at(0), trigger, NOW);
        if (trigger === "expire") expect(over()).toBe("expired");
        else expect(over).toThrow("its status is expired");
      }
    },
  );

  test("offers last as long as they say, idle applications 90 days, others for ever", () => {
    const offered = "2026-12-01T00:00:00.000Z";
    for (const status of APPLICATION_STATUSES) {
      const idle = status === "draft" || status === "action_required";
      expect([status, expiryOf(status, NOW, offered)]).toEqual([
        status,
        status === "approved" ? offered : idle ? "2027-02-19T10:00:00.000Z" : null,
      ]);
    }
  });

  test("coming into a state is stamped with its instant, but for the draft", () => {
    expect(arrival("under_review", NOW)).toEqual({ under_review_at: iso(NOW) });
    expect(arrival("draft", NOW)).toEqual({});
  });
});

test("whatever is tried in whatever order, an application never leaves a final state", () => {
  const some_triggers = fc.array(fc.constantFrom(...TRIGGERS), { maxLength: 40 });
  fc.assert(
    fc.property(some_triggers, (triggers) => {
      let status: (typeof APPLICATION_STATUSES)[number] = "draft";
      for (const trigger of triggers) {
        const next = nextStatus(status, trigger);
        if (isFinal(status)) expect(next).toBeUndefined();
        status = next ?? status;
      }
      expect(APPLICATION_STATUSES).toContain(status);
    }),
    propertyCases(300),
  );
});
