import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Config, readConfig } from "../../src/core/config.ts";
import type { DemoSize } from "../../src/demo/cast/size.ts";
import { type Demo, prepareDemo } from "../../src/demo/demo.ts";
import { CHEAP } from "./password_cost.ts";

/** When the demo of tests was made, and its size: every story has somebody in it. */
export const MADE_AT = Temporal.Instant.from("2026-09-17T04:00:00Z");
export const SMALL = { clients: 11, events: 20_000 };

export const REPORT = { progress: () => undefined, line: () => undefined };

/** The configuration by which a folder beside `folder`/var is the demo's. */
export const configIn = (folder: string): Config =>
  readConfig({ DATA_DIR: join(folder, "var"), PORT: "0", LOG_LEVEL: "fatal", DISK_RESERVE: "0" });

/** Makes the demo of that moment in a folder, a new one unless it is named, and small unless `size` is another. */
export async function makeTestDemo(
  folder = mkdtempSync(join(tmpdir(), "meterhouse-demo-")),
  size: DemoSize = SMALL,
): Promise<{ folder: string; demo: Demo }> {
  const options = { now: MADE_AT, size, password_cost: CHEAP, report: REPORT };
  return { folder, demo: await prepareDemo(configIn(folder), options) };
}
