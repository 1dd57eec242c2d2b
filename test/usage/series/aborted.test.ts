import { expect, spyOn, test } from "bun:test";
import { PASSWORD, readMetrics, useService } from "../../support/harness.ts";

// Nobody waits for the answer any more: the question ends, and is no failure of the service.

const service = useService();

test.each(["application/json", "application/x-ndjson"])(
  "a request that is aborted, for %s, stops the work in the usage store",
  async (accept) => {
    const { usage, log } = service.deps;
    const errors = spyOn(log, "error");
    const whole = Object.fromEntries(Object.entries(usage).filter(([name]) => name.startsWith("series")));
    const [asked, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const hang = (_: unknown, { signal }: { signal?: AbortSignal | undefined }) => {
      asked.resolve();
      signal?.addEventListener("abort", () => stopped.resolve());
      return stopped.promise.then(() => Promise.reject(signal?.reason));
    };
    Object.assign(usage, { series: hang, seriesFrames: hang });
    try {
      const { body } = await service.anonymous("POST", "/login", {
        email: service.admin_email,
        password: PASSWORD,
      });
      const controller = new AbortController();
      const answer = fetch(`${service.url}/api/v1/usage/series`, {
        method: "POST",
        body: "{}",
        headers: { "content-type": "application/json", accept, authorization: `Bearer ${body.token}` },
        signal: controller.signal,
      }).catch((error: Error) => error.name);
      await asked.promise;
      controller.abort();
      expect(await answer).toBe("AbortError");
      await stopped.promise;
      const counted = `http_requests_total{method="POST",route="/api/v1/usage/series",status="499"}`;
      // That of lines has begun when it is given up, and was counted then.
      if (accept === "application/json")
        while (!String((await readMetrics(service)).body).includes(counted)) await Bun.sleep(5);
      // It is no failure of the service.
      expect(errors).not.toHaveBeenCalled();
    } finally {
      errors.mockRestore();
      Object.assign(usage, whole);
    }
  },
);
