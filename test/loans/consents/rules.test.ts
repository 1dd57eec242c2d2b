import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { CONSENT_STATUSES, type ConsentStatus } from "../../../src/loans/consents/model.ts";
import {
  CONSENT_STEPS,
  CONSENT_TRIGGERS,
  checkRevocable,
  endOf,
  isValidAt,
  readEvidence,
  subjectOf,
} from "../../../src/loans/consents/rules.ts";
import { propertyCases } from "../../support/properties.ts";

const at = (text: string) => Temporal.Instant.from(text);
const NOW = at("2026-03-10T12:00:00Z");

describe("consents", () => {
  const pairs = CONSENT_STATUSES.flatMap((status) =>
    CONSENT_TRIGGERS.map((trigger) => ({ status, trigger })),
  );
  const LEADS: Record<string, ConsentStatus> = { "granted revoke": "revoked", "granted expire": "expired" };

  test.each(pairs)("$status, $trigger", ({ status, trigger }) => {
    expect(CONSENT_STEPS[status][trigger]).toBe(LEADS[`${status} ${trigger}`]);
    const check = () => checkRevocable({ id: 7, status, expires_at: null }, NOW);
    if (status === "granted") expect(check).not.toThrow();
    else expect(check).toThrow(`Cannot revoke consent 7: it is ${status}`);
  });

  test("one whose time has run out does not hold, and can't be revoked, also before that is written down", () => {
    const granted = { id: 7, status: "granted" as const };
    expect(isValidAt({ ...granted, expires_at: null }, NOW)).toBe(true);
    expect(isValidAt({ ...granted, expires_at: "2026-03-10T12:00:00.001Z" }, NOW)).toBe(true);
    expect(isValidAt({ ...granted, expires_at: "2026-03-10T12:00:00.000Z" }, NOW)).toBe(false);
    expect(isValidAt({ status: "revoked", expires_at: null }, NOW)).toBe(false);
    const check = () => checkRevocable({ ...granted, expires_at: "2026-03-10T12:00:00.000Z" }, NOW);
    expect(check).toThrow("it is expired");
  });

  test.each([
    ["2026-03-10T12:00:00Z", null, "2026-03-10T12:00:00.000Z"],
    ["2026-03-10T20:00:00.5+08:00", 1, "2026-03-10T12:00:00.500Z"],
    ["2026-03-10T12:00:05Z", null, "2026-03-10T12:00:05.000Z"],
    ["2026-03-10T12:00:05.001Z", null, "must not be in the future"],
    ["2027-01-01T00:00:00Z", null, "must not be in the future"],
    ["1999-01-01T00:00:00Z", null, "1999-01-01T00:00:00.000Z"],
    ["2026-03-09T12:00:00.001Z", 1, "2026-03-09T12:00:00.001Z"],
    ["2026-03-09T12:00:00Z", 1, "must be less than 1 days ago"],
  ])("captured at %s, valid for %p days: %s", (captured_at, validity_days, expected) => {
    const read = () => readEvidence({ method: "otp", captured_at }, validity_days, NOW);
    if (expected.startsWith("must")) expect(read).toThrow(expected);
    else expect(read()).toEqual({ method: "otp", captured_at: expected, ip: null, user_agent: null });
  });

  test("what is granted holds up to its end, and not at it", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 36_525 }), (days) => {
        const expires_at = endOf(NOW, days);
        const end = at(expires_at ?? "");
        expect(end.since(NOW).total("hours")).toBe(24 * days);
        const granted = { status: "granted" as const, expires_at };
        expect(isValidAt(granted, end.subtract({ milliseconds: 1 }))).toBe(true);
        expect(isValidAt(granted, end)).toBe(false);
      }),
      propertyCases(200),
    );
    expect(endOf(NOW, null)).toBeNull();
  });

  test("of the borrower the name is kept, and the end of the number", () => {
    const borrower = {
      type: "individual" as const,
      name: "Aminah binti Ali",
      ic_number: "900101145678",
      registration_number: null,
      email: null,
      phone: null,
      monthly_income: null,
      employment_type: null,
    };
    expect(subjectOf({ borrower })).toEqual({ subject_name: "Aminah binti Ali", subject_ic_last4: "5678" });
    expect(subjectOf({ borrower: { ...borrower, ic_number: null } }).subject_ic_last4).toBeNull();
  });
});
