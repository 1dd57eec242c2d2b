import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Deployment, makeDeployment } from "../../support/deployment.ts";
import { run } from "../../support/process.ts";
import { whyNoUsageOnClickHouse } from "../../support/usage_on_clickhouse.ts";
import { freePort } from "../../support/free_port.ts";
import { addSubscription, ms, send } from "../../usage/fixtures.ts";

const reason = whyNoUsageOnClickHouse();
if (reason !== null) console.log(`skipped: ${reason}`);

describe.skipIf(reason !== null)("an instance that others can't reach", () => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await makeDeployment(1);
  });
  afterAll(() => deployment?.stop());

  test("is named by the log of the one that needs it and by doctor, and its lane is not said to be nobody's", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const owner = await deployment.start({ INSTANCE_URL: nowhere });
    await deployment.shared(owner);
    const DATA_DIR = mkdtempSync(join(tmpdir(), "meterhouse-"));
    const other = await deployment.start({ DATA_DIR, LOG_LEVEL: "error" });
    const [at_owner, api] = [await owner.signIn(), await other.signIn()];
    await addSubscription({ api }, "sub");
    const event = {
      external_subscription_id: "sub",
      id: crypto.randomUUID(),
      usage: 1,
      timestamp: ms("2026-01-01T00:00:00Z"),
    };
    const refused = await send(api, event);
    expect([refused.status, refused.body.error]).toEqual([
      503,
      "Cannot store events now: the instance that stores the company's usage does not answer",
    ]);
    expect(other.printed()).toContain(`does not answer at ${nowhere}`);
    expect((await send(at_owner, event)).body.data).toEqual({ accepted: 1, duplicates: 0 });
    // The server on this folder makes the checks.
    const doctorAtOther = () =>
      run(["doctor"], { ...deployment.settings, DATA_DIR, INSTANCE_URL: other.url });
    const doctor = await doctorAtOther();
    expect([doctor.code, doctor.out]).toEqual([
      1,
      expect.stringContaining(`FAIL  instances: ${nowhere} does not answer`),
    ]);
    owner.kill("SIGTERM");
    await owner.exited;
    const next = await deployment.start();
    const answers = `ok    instances: ${next.url.replace("localhost", "127.0.0.1")} answers\n`;
    while (!(await doctorAtOther()).out.includes(answers)) await Bun.sleep(500);
    rmSync(DATA_DIR, { recursive: true, force: true });
  }, 120_000);
});
