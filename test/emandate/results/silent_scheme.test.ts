import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { eq } from "drizzle-orm";
import { iso } from "../../../src/core/time.ts";
import { mandateOrderTable } from "../../../src/emandate/orders/tables.ts";
import { startJobs } from "../../../src/server/scheduler.ts";
import { type Service, startService, type Tenant, TestClock } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { openStandIn, type StandIn } from "../scheme/fake_fpx.ts";

// A company whose FPX never answers, and one whose mandates go on meanwhile.

const clock = new TestClock(Temporal.Now.instant().add({ minutes: 1 }).round("millisecond").toString());
let scheme: StandIn;
let service: Service;
let silence = Promise.withResolvers<void>();

beforeAll(async () => {
  scheme = openStandIn();
  scheme.answerStatus(() => silence.promise.then(() => new Response("late")));
  const env = { SECRETS_KEY: randomBytes(32).toString("hex"), FPX_URL: scheme.url, NODE_ENV: "test" };
  service = await startService({ clock, env });
  await silentCompany();
});
afterAll(async () => {
  await service.stop();
  await scheme.stop();
});

/** The first company has more orders to ask for than are asked at once. */
async function silentCompany(): Promise<void> {
  const config = {
    exchange_id: "EX00000001",
    seller_id: "SE00000001",
    scheme_certificate_pem: scheme.scheme.certificate_pem,
    private_key_pem: scheme.seller_key_pem,
    connector: "fpx",
  };
  expect((await service.api("PUT", "/emandate/config", config)).status).toBe(200);
  for (let i = 0; i < 20; i++) {
    const { id } = await mandate(service, `silent${i}@example.com`, "Ahmad");
    const path = `/emandate/mandates/${id}/authorize`;
    expect((await service.api("POST", path, { bank_code: "MB2U0227" })).status).toBe(200);
  }
}

async function mandate({ api }: Pick<Tenant, "api">, customer_email: string, customer_name: string) {
  const { status, body } = await api("POST", "/emandate/mandates", { customer_name, customer_email });
  expect(status).toBe(201);
  return body.data;
}

/** All of the silent company's orders were to be asked for before others. */
async function makeDue(): Promise<void> {
  await service.deps.store.tx(async (q) => {
    const t = q.use(mandateOrderTable);
    await q
      .update(t)
      .set({ next_query_at: iso(clock.now().subtract({ hours: 1 })) })
      .where(eq(t.company_id, service.company_id));
  });
}

/** Without requests for the bank list, which its own job sends every five minutes. */
const statusQueries = () =>
  scheme.requests.filter(({ path }) => path === "/FPXMain/sellerNVPTxnStatus.jsp").length;

test.each(["by hand", "by time"])("does not hold up another's polling, %s", async (how) => {
  silence = Promise.withResolvers<void>();
  const other = await service.addTenant();
  const { id } = await mandate(other, "siti@example.com", "Successful Siti");
  expect((await other.api("POST", `/emandate/mandates/${id}/authorize`, {})).status).toBe(200);
  clock.set(clock.now().add({ seconds: 5 }).toString());
  await makeDue();
  const asked = statusQueries();
  const stop =
    how === "by time"
      ? startJobs(service.deps)
      : (
          (polled) => () =>
            polled
        )(runNamedJob(service, "mandate_orders"));
  const statusOf = async () => (await other.api("GET", `/emandate/mandates/${id}`)).body.data.status;
  try {
    for (let i = 0; i < 400 && (await statusOf()) !== "pending_approval"; i++) await Bun.sleep(10);
    // The first questions still hang, and no more were asked.
    expect([await statusOf(), statusQueries() - asked]).toEqual(["pending_approval", 8]);
  } finally {
    silence.resolve();
    await stop();
  }
});

test("a metric counts debits, amendments and terminations without a result for a day", async () => {
  const unknown = async () =>
    /^meterhouse_mandate_orders_unknown (\d+)$/m.exec((await service.deps.metrics.print()).body)?.[1];
  const change = (hours: number, awaits: "authorization" | "confirmation" | null) =>
    service.deps.store.tx(async (q) => {
      const t = q.use(mandateOrderTable);
      const submitted_at = iso(clock.now().subtract({ hours }));
      await q.update(t).set({ submitted_at, awaits }).where(eq(t.id, 1));
    });
  const counted = [];
  for (const awaits of ["authorization", "confirmation", null] as const) {
    await change(25, awaits);
    counted.push(await unknown());
  }
  await change(23, "confirmation");
  expect([...counted, await unknown()]).toEqual(["0", "1", "0", "0"]);
});
