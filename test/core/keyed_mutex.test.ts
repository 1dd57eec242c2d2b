import { expect, test } from "bun:test";
import { KeyedMutex } from "../../src/core/keyed_mutex.ts";

test("what has one key goes in order, also after a failure; other keys do not wait", async () => {
  const turns = new KeyedMutex<string>();
  const told: string[] = [];
  const work = (name: string, ms: number) => async () => {
    told.push(`${name} begins`);
    await Bun.sleep(ms);
    told.push(`${name} ends`);
    if (name === "a1") throw new Error("broken");
    return name;
  };
  const all = await Promise.allSettled([
    turns.run("a", work("a1", 20)),
    turns.run("a", work("a2", 0)),
    turns.run("b", work("b1", 1)),
  ]);
  expect(all.map((one) => (one.status === "fulfilled" ? one.value : one.status))).toEqual([
    "rejected",
    "a2",
    "b1",
  ]);
  expect(told).toEqual(["a1 begins", "b1 begins", "b1 ends", "a1 ends", "a2 begins", "a2 ends"]);
});
