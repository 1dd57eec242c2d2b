import type { Service } from "./service.ts";

const SAMPLE_MS = 200;

/** Samples the service's memory until stopped, then returns its largest growth in bytes. */
export function watchMemory(service: Service): { stop(): Promise<number> } {
  const read = () => service.metric("process_resident_memory_bytes");
  const watch = { on: true };
  const watching = (async () => {
    const first = (await read()) ?? Number.NaN;
    let most = first;
    while (watch.on) {
      await Bun.sleep(SAMPLE_MS);
      most = Math.max(most, (await read()) ?? Number.NaN);
    }
    return most - first;
  })();
  return {
    stop() {
      watch.on = false;
      return watching;
    },
  };
}
