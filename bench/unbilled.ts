import { cpSync } from "node:fs";
import { join } from "node:path";
import type { Progress } from "./bench.ts";
import type { Cleanup } from "./cleanup.ts";
import { pastHourlyRun } from "./hourly_run.ts";
import { Service } from "./service.ts";

/** So many UTC months that ended last, by their names such as "2026-10", in order. */
export function lastMonths(count: number): { names: string[]; from: string; to: string } {
  const to = Temporal.Now.zonedDateTimeISO("UTC").with({ day: 1 }).startOfDay();
  const from = to.subtract({ months: count });
  const text = (at: Temporal.ZonedDateTime) => at.toInstant().toString({ smallestUnit: "millisecond" });
  const names = Array.from({ length: count }, (_, i) =>
    from.add({ months: i }).toPlainDate().toPlainYearMonth().toString(),
  );
  return { names, from: text(from), to: text(to) };
}

/** Starts the service on a copy of a data directory with so many unbilled events, which stays as it is. */
export async function startOnCopy(
  cleanup: Cleanup,
  source: string,
  events: number,
  progress: Progress,
): Promise<Service> {
  await pastHourlyRun(events, progress);
  const data_dir = join(cleanup.folder(), "data");
  cpSync(source, data_dir, { recursive: true });
  const service = new Service(cleanup, data_dir);
  progress("starting the service, and waiting until it has put its store in order");
  await service.start();
  await service.rest();
  return service;
}
