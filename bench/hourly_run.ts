import type { Progress } from "./bench.ts";

/** The service bills what is due a few seconds after each hour. */
const AFTER = Temporal.Duration.from({ seconds: 15 });
/** Up to the start of the run that is measured. */
const BEFORE_MS = 120_000;
/** The most that a run takes for an event. */
const EVENT_MS = 0.012;

/** Waits where the service, once it is started, would bill so many events by itself before a run of ours is through. */
export async function pastHourlyRun(events: number, progress: Progress): Promise<void> {
  const now = Temporal.Now.instant();
  const next = now.subtract(AFTER).round({ smallestUnit: "hour", roundingMode: "ceil" }).add(AFTER);
  const wait_ms = next.epochMilliseconds - now.epochMilliseconds;
  if (wait_ms >= BEFORE_MS + events * EVENT_MS) return;
  progress(
    `waiting until ${next.toString({ smallestUnit: "second" })}: the service would bill by itself then`,
  );
  await Bun.sleep(wait_ms);
}
