import { expect, test } from "bun:test";
import { availableMemory, defaultUsageMemory } from "../../src/core/memory.ts";

const MACHINE = 16e9;

test.each([
  ["no control groups", {}, MACHINE],
  [
    "version 2, in a container",
    { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "512000000\n" },
    512e6,
  ],
  [
    "version 2, a service whose slice has the lower limit",
    {
      "/proc/self/cgroup": "0::/a.slice/b.service\n",
      "/sys/fs/cgroup/a.slice/b.service/memory.max": "max\n",
      "/sys/fs/cgroup/a.slice/memory.max": "3000000000\n",
    },
    3e9,
  ],
  [
    "version 1, in a container that shows the host's path",
    {
      "/proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/docker/1\n1:name=systemd:/x\n0::/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "1000000000\n",
      "/sys/fs/cgroup/cpu/memory.limit_in_bytes": "1\n",
    },
    1e9,
  ],
  [
    "version 1 without a limit",
    {
      "/proc/self/cgroup": "4:memory:/\n",
      "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    },
    MACHINE,
  ],
  [
    "a limit above the machine's memory",
    { "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "99e9" },
    MACHINE,
  ],
])("the memory that a process may take: %s", (_, files: Record<string, string>, expected) => {
  expect(availableMemory((path) => files[path], MACHINE)).toBe(expected);
});

test("usage queries take a quarter of it, at most 2 GB", () => {
  expect([1e8, 512e6, 4e9, 64e9].map(defaultUsageMemory)).toEqual(["32MB", "128MB", "1000MB", "2000MB"]);
});
