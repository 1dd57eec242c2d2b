import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { DiskReserve, isLow, useReserve } from "../../src/core/disk_reserve.ts";

const RESERVE = 1_000_000_000;

test("writing waits below the reserve, and goes on only a fifth above it", () => {
  const history = [2e9, 1e9, 999_999_999, 1.1e9, 1.199e9, 1.2e9, 1.1e9, 1e9, 0.5e9];
  const seen: boolean[] = [];
  for (const free of history) seen.push(isLow(seen.at(-1) ?? false, free, RESERVE));
  expect(seen).toEqual([false, false, true, true, true, false, false, false, true]);
});

test("it is never low with more than 1.2 of the reserve, and always with less than all of it", () => {
  fc.assert(
    fc.property(fc.boolean(), fc.nat(3e9), fc.nat(2e9), (was_low, free, reserve) => {
      const low = isLow(was_low, free, reserve);
      if (free >= reserve * 1.2) expect(low).toBe(false);
      if (free < reserve) expect(low).toBe(true);
    }),
  );
  expect(isLow(false, 0, 0)).toBe(false);
});

test("a look that fails changes nothing; what may use the reserve is let through", async () => {
  const changes: boolean[] = [];
  let free: number | null = 5e9;
  const disk = new DiskReserve(
    RESERVE,
    async () => {
      if (free === null) throw new Error("gone");
      return { size_bytes: 1e10, free_bytes: free };
    },
    (is_low) => changes.push(is_low),
  );
  await disk.look();
  disk.check();
  free = 12_345_678;
  await disk.look();
  free = null;
  await disk.look();
  expect(() => disk.check()).toThrow("12 MB are free, and DISK_RESERVE keeps 1000 MB");
  await useReserve(async () => {
    await Bun.sleep(1);
    disk.check();
  });
  free = 2e9;
  await disk.look();
  disk.check();
  expect([changes, disk.problem, disk.seen]).toEqual([
    [true, false],
    null,
    { size_bytes: 1e10, free_bytes: 2e9 },
  ]);
});
