import { describe, expect, test } from "bun:test";
import { InternalSignatures } from "../../../src/server/internal/signature.ts";
import { TestClock } from "../../support/harness.ts";

const SECRET = "s".repeat(32);
const CALL = { path: "/internal/append", to: "b" };
const BODY = new TextEncoder().encode('{"company_id":1}');

describe("signatures of instances", () => {
  const clock = new TestClock("2026-01-01T00:00:00Z");
  const sender = new InternalSignatures(SECRET, clock);
  const receiver = () => new InternalSignatures(SECRET, clock);

  test("are taken once, with the body that they are of", () => {
    const signature = sender.sign(CALL, BODY);
    const own = receiver();
    expect(() => own.take(CALL, signature)(BODY)).not.toThrow();
    expect(() => own.take(CALL, signature)).toThrow("for other instances alone");
  });

  test.each([
    ["another path", { ...CALL, path: "/internal/erase" }],
    ["another instance", { ...CALL, to: "c" }],
  ])("are not taken for %s", (_, call) => {
    expect(() => receiver().take(call, sender.sign(CALL, BODY))).toThrow("for other instances alone");
  });

  test("are not taken with another body", () => {
    const check = receiver().take(CALL, sender.sign(CALL, BODY));
    expect(() => check(new TextEncoder().encode('{"company_id":2}'))).toThrow("for other instances alone");
  });

  test("are not taken by another secret, nor where anything was changed", () => {
    const signature = sender.sign(CALL, BODY);
    const stranger = new InternalSignatures("x".repeat(32), clock);
    expect(() => stranger.take(CALL, signature)).toThrow("for other instances alone");
    for (let at = "Meterhouse ".length; at < signature.length; at++) {
      const changed = `${signature.slice(0, at)}${signature[at] === "1" ? "2" : "1"}${signature.slice(at + 1)}`;
      expect(() => receiver().take(CALL, changed)(BODY)).toThrow("for other instances alone");
    }
    for (const none of [null, "", "Bearer x", `${signature}, s=`])
      expect(() => receiver().take(CALL, none)).toThrow("for other instances alone");
  });

  test("are fresh for thirty seconds, and remembered for as long", () => {
    const moving = new TestClock("2026-01-01T00:00:00Z");
    const own = new InternalSignatures(SECRET, moving);
    const early = sender.sign(CALL, BODY);
    moving.set("2026-01-01T00:00:30Z");
    expect(() => own.take(CALL, early)(BODY)).not.toThrow();
    expect(() => own.take(CALL, early)).toThrow("for other instances alone");
    moving.set("2026-01-01T00:00:30.001Z");
    expect(() => own.take(CALL, sender.sign(CALL, BODY))).toThrow("for other instances alone");
    moving.set("2025-12-31T23:59:29Z");
    expect(() => own.take(CALL, sender.sign(CALL, BODY))).toThrow("for other instances alone");
  });
});
