import { afterAll, beforeEach, expect, test } from "bun:test";
import type { Background } from "../../../src/core/background.ts";
import { openLog } from "../../../src/core/log.ts";
import { OwnerLink } from "../../../src/server/internal/owner_link.ts";
import { InternalSignatures } from "../../../src/server/internal/signature.ts";
import type { OwnedLanes } from "../../../src/usage_store/clickhouse/lanes.ts";
import { TestClock } from "../../support/harness.ts";

// What an owner answers, in turn.
const answers: Response[] = [];
const owner = Bun.serve({
  port: 0,
  fetch: () => answers.shift() ?? Response.json({ data: "asked too often" }),
});
afterAll(() => owner.stop(true));

let holder: "owner" | "this one" | "nobody" = "owner";
beforeEach(() => {
  answers.length = 0;
  holder = "owner";
});
const lanes: Pick<OwnedLanes, "otherOwnerOf" | "owns"> = {
  otherOwnerOf: () =>
    holder === "owner" ? { id: "owner", url: `http://127.0.0.1:${owner.port}` } : undefined,
  owns: () => holder === "this one",
};
const link = new OwnerLink({
  signatures: new InternalSignatures("s".repeat(32), new TestClock("2026-01-01T00:00:00Z")),
  lanes: lanes as OwnedLanes,
  background: {} as Background,
  log: openLog("silent"),
});
const pass = (operation: Parameters<typeof link.pass>[1] = { name: "check_usage", at_owner: true }) =>
  link.pass(
    { actor: { kind: "system", company_id: 1 }, origin: "job", request_id: "test", address: null },
    operation,
    {},
  );
const RESERVE = { name: "reserve_usage", at_owner: "only" } as const;

test("an operation is asked again of an owner that has moved on, and not of one that failed", async () => {
  answers.push(Response.json({}, { status: 421 }), Response.json({ data: 7 }));
  expect(await pass()).toEqual({ output: 7 });
  answers.push(Response.json({}, { status: 500 }), Response.json({ data: "repeated" }));
  expect(await pass().catch((error: unknown) => String(error))).toContain(
    "Instance owner failed: see its log",
  );
  expect(answers).toHaveLength(1);
});

test("while nobody owns the lane a check is this one's, and a reservation waits for an owner", async () => {
  holder = "nobody";
  expect(await pass()).toBeNull();
  answers.push(Response.json({ data: "held" }));
  const waiting = pass(RESERVE);
  const soon = Bun.sleep(50).then(() => "waits");
  expect(await Promise.race([waiting, soon])).toBe("waits");
  holder = "owner";
  expect(await waiting).toEqual({ output: "held" });
  holder = "nobody";
  const here = pass(RESERVE);
  holder = "this one";
  expect(await here).toBeNull();
  holder = "nobody";
  expect(await pass(RESERVE).catch(({ kind }: { kind: string }) => kind)).toBe("unavailable");
}, 20_000);
