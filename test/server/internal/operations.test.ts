import { expect, test } from "bun:test";
import { join } from "node:path";
import { findOperation } from "../../../src/server/internal/operations.ts";

const SRC = join(import.meta.dir, "../../../src");

test("every operation of the owner is known where it is passed on to", async () => {
  const found: string[] = [];
  for (const file of new Bun.Glob("**/*.ts").scanSync(SRC)) {
    const path = join(SRC, file);
    const marked = (await Bun.file(path).text()).split("  at_owner: ").length - 1;
    if (marked === 0) continue;
    const exported: Record<string, { at_owner?: unknown; name: string } | undefined> = await import(path);
    const operations = Object.values(exported).filter((one) => one?.at_owner !== undefined);
    expect([file, operations.length]).toEqual([file, marked]);
    for (const operation of operations) {
      const { name = "" } = operation ?? {};
      expect([name, findOperation(name) as unknown]).toEqual([name, operation]);
      found.push(name);
    }
  }
  expect(found).toContain("check_usage");
});
