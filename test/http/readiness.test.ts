import { afterEach, expect, spyOn, test } from "bun:test";
import { INSTANCES, type Service, startService } from "../support/harness.ts";

let service: Service;

afterEach(() => service.stop());

const ask = async () => (await fetch(`${service.url}/ready`)).status;

async function askAtOnce(callers: number): Promise<Set<number>> {
  return new Set(await Promise.all(Array.from({ length: callers }, ask)));
}

test("however many ask at once, the stores are asked once, and the answer is theirs", async () => {
  service = await startService();
  const ping = spyOn(service.deps.usage, "ping");
  expect(await askAtOnce(300)).toEqual(new Set([200]));
  expect(ping).toHaveBeenCalledTimes(1);
});

test("a store that fails and recovers is logged once each, however many ask meanwhile", async () => {
  service = await startService();
  const { instances } = service;
  const errors = instances.map(({ log }) => spyOn(log, "error"));
  const infos = instances.map(({ log }) => spyOn(log, "info"));
  const pings = instances.map(({ usage }) => spyOn(usage, "ping").mockRejectedValue(new Error("gone")));
  expect(await askAtOnce(100)).toEqual(new Set([503]));
  // Asked anew, and answered the same, before it is back.
  while (pings.some((ping) => ping.mock.calls.length < 2)) expect(await ask()).toBe(503);
  for (const ping of pings) ping.mockRestore();
  while ((await askAtOnce(INSTANCES)).has(503)) await Bun.sleep(20);
  expect(await askAtOnce(100)).toEqual(new Set([200]));
  for (const error of errors) expect(error.mock.calls.map(([, message]) => message)).toEqual(["not ready"]);
  for (const info of infos) expect(info.mock.calls.flat()).toEqual(["ready again"]);
});
