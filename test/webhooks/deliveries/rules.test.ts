import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { Webhook } from "standardwebhooks";
import { instant } from "../../../src/core/time.ts";
import {
  ONE_ATTEMPT,
  RETRY_STEPS_S,
  retryAfterMs,
  retrySteps,
  afterAttempt,
} from "../../../src/webhooks/deliveries/rules.ts";

const now = Temporal.Instant.from("2026-03-01T00:00:00Z");
const failed = { status_code: 500, retry_after: null };

/** How long after `now` the next attempt is, or null when there is none. */
function waitOf(
  step: number,
  answered: { status_code: number | null; retry_after: string | null },
  random = 0,
) {
  const { next_attempt_at } = afterAttempt(step, answered, now, random);
  return next_attempt_at === null ? null : instant(next_attempt_at).epochMilliseconds - now.epochMilliseconds;
}

test("ten attempts: at once, then after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h", () => {
  expect([...RETRY_STEPS_S]).toEqual([0, 5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]);
  const waits = RETRY_STEPS_S.map((_, step) => waitOf(step, failed));
  expect(waits).toEqual([...RETRY_STEPS_S.slice(1).map((seconds) => seconds * 1_000), null]);
  expect(afterAttempt(9, failed, now, 0)).toEqual({ status: "failed", step: 10, next_attempt_at: null });
});

test("three attempts for a loan that is only tried out, ten for one that is made, and for all else", () => {
  const attempts = (data: Record<string, unknown>) => {
    let made = 0;
    while (afterAttempt(made, failed, now, 0, retrySteps(data)).status === "pending") made++;
    return made + 1;
  };
  expect(attempts({ environment: "staging" })).toBe(3);
  expect(attempts({ environment: "production" })).toBe(10);
  expect(attempts({})).toBe(10);
  const second = afterAttempt(0, failed, now, 0, retrySteps({ environment: "staging" }));
  expect(second).toEqual({ status: "pending", step: 1, next_attempt_at: "2026-03-01T00:00:05.000Z" });
  // Sent again by somebody, it gets one more.
  const again = afterAttempt(ONE_ATTEMPT, failed, now, 0, retrySteps({ environment: "staging" }));
  expect(again.status).toBe("failed");
});

const steps = fc.integer({ min: 0, max: RETRY_STEPS_S.length - 2 });
const failures = fc.oneof(
  fc.constant(null),
  fc.integer({ min: 100, max: 599 }).filter((code) => (code < 200 || code > 299) && code !== 410),
);

describe("verdict", () => {
  test("a wait is never shorter than its step, nor longer than a fifth more", () => {
    fc.assert(
      fc.property(
        steps,
        failures,
        fc.double({ min: 0, max: 1, noNaN: true }),
        (step, status_code, random) => {
          const wait = waitOf(step, { status_code, retry_after: null }, random) ?? 0;
          const step_ms = (RETRY_STEPS_S[step + 1] ?? 0) * 1_000;
          expect(wait).toBeGreaterThanOrEqual(step_ms);
          expect(wait).toBeLessThanOrEqual(step_ms * 1.2);
        },
      ),
    );
  });

  test("every 2xx ends it well, 410 at once and badly, whatever the step", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 9 }), fc.integer({ min: 200, max: 299 }), (step, status_code) => {
        const end = { step: step + 1, next_attempt_at: null };
        expect(afterAttempt(step, { status_code, retry_after: "9" }, now, 1)).toEqual({
          status: "succeeded",
          ...end,
        });
        expect(afterAttempt(step, { status_code: 410, retry_after: "9" }, now, 1)).toEqual({
          status: "failed",
          ...end,
        });
      }),
    );
  });

  test("Retry-After moves an attempt back, never forward", () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 100_000 }), (step, seconds) => {
        const own = waitOf(step, failed) ?? 0;
        const wait = waitOf(step, { status_code: 503, retry_after: String(seconds) });
        expect(wait).toBe(Math.max(own, Math.min(seconds, 86_400) * 1_000));
      }),
    );
  });
});

test.each([
  ["120", 120_000],
  [" 120 ", 120_000],
  ["0", 0],
  ["Sun, 01 Mar 2026 00:10:00 GMT", 600_000],
  ["Sat, 28 Feb 2026 00:00:00 GMT", 0],
  ["999999999999999", 86_400_000],
  ["-5", 0],
  ["soon", 0],
  ["", 0],
  [null, 0],
])("Retry-After: %j means %p ms", (header, wait_ms) => {
  expect(retryAfterMs(header, now)).toBe(wait_ms);
});

test("the signing library gives the specification's published signature", () => {
  const signature = new Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").sign(
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    new Date(1_614_265_330_000),
    '{"test": 2432232314}',
  );
  expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});
