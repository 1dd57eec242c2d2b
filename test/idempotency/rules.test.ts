import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { LIMITS } from "../../src/idempotency/limits.ts";
import { AppError } from "../../src/core/errors.ts";
import type { FoundKey } from "../../src/idempotency/model.ts";
import { replay, isDone, isStorable, showsSecret } from "../../src/idempotency/rules.ts";

const answer = (body: unknown) => ({ status: 201, headers: {}, body: JSON.stringify(body) });

describe("isDone()", () => {
  test.each([
    [[200, 201, 202, 204], true],
    [[400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 500, 502, 503, 302, 100], false],
  ])("%j: %p", (statuses, final) => {
    expect(statuses.map(isDone)).toEqual(statuses.map(() => final));
  });
});

describe("isKept()", () => {
  test.each([
    [{ data: { id: 1, url: "https://example.com", secret: "whsec_x" } }, false],
    [{ data: [{ a: { access_token: "x" } }] }, false],
    [{ data: { clientSecret: "x" } }, false],
    [{ type: "bearer", token: "x" }, false],
    [{ data: { id: 1, name: "secret", description: "token" } }, true],
    [{ data: { has_token: true, secret: null } }, true],
    [{ data: { authorization: "x" } }, false],
    [{ data: { ic_number: "900131145678" } }, false],
    [{ data: { ic_number: "********5678", authorization_url: "https://example.com/x" } }, true],
    [{ data: { name: "x".repeat(LIMITS.idempotency_answer_characters) } }, false],
  ])("an answer is kept unless it shows a secret, or is long: case %#", (body, kept) => {
    expect(isStorable(answer(body))).toBe(kept);
  });

  test("a secret is found at any depth", () => {
    const path = fc.array(fc.option(fc.constantFrom("a", "data", "0"), { nil: null }), { maxLength: 8 });
    fc.assert(
      fc.property(path, fc.constantFrom("secret", "apiKey", "new_token", "Password"), (places, name) => {
        const inside: unknown = { [name]: "x" };
        const wrapped = places.reduce<unknown>(
          (value, place) => (place === null ? [1, value] : { x: 1, [place]: value }),
          inside,
        );
        expect(showsSecret(wrapped)).toBe(true);
      }),
    );
  });
});

describe("answerToRepeat()", () => {
  const now = Temporal.Instant.from("2026-03-10T12:00:00Z");
  const found = (changes: Partial<FoundKey>): FoundKey => ({
    state: "in_progress",
    digest: "d",
    lease_until: "2026-03-10T12:01:00.000Z",
    target_type: null,
    target_id: null,
    response: null,
    ...changes,
  });
  const refusal = (key: FoundKey, digest = "d"): AppError => {
    try {
      replay(key, digest, now);
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
    throw new Error("was answered");
  };

  test("says nothing of an answer to another request", () => {
    const kept = found({ state: "answered", response: { status: 201, headers: {}, body: "secret" } });
    expect(refusal(kept, "other").message).not.toContain("secret");
    expect(refusal(kept, "other").retry_after_s).toBeUndefined();
  });

  test.each([
    [found({}), LIMITS.idempotency_retry_s],
    [found({ lease_until: "2026-03-10T12:00:01.500Z" }), 2],
    [found({ state: "committed" }), LIMITS.idempotency_retry_s],
    [found({ state: "committed", lease_until: "2026-03-10T12:00:00.000Z" }), undefined],
    [found({ state: "answered" }), undefined],
  ])("tells when to come back, where that helps: case %#", (key, seconds) => {
    expect(refusal(key)).toMatchObject({ kind: "conflict", retry_after_s: seconds });
  });

  test("names what was changed, where the answer is not kept", () => {
    const key = found({ state: "answered", target_type: "webhook", target_id: 7 });
    expect(refusal(key).message).toContain("was carried out (webhook 7)");
  });
});
