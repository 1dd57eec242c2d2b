import { expect, test } from "bun:test";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { makeCommandFolder, run, startServer } from "../support/process.ts";
import type { Api, Json } from "../support/harness.ts";

// The main job on real input, through the public interfaces only: the README's tour as a test.

/** One hour of requests to a language model, from the Azure Public Dataset; not part of the project. */
const TRACE =
  process.env.AZURE_TRACE ?? resolve(import.meta.dir, "../../../shared/data/azure-llm-code-2023.csv");
const missing = !existsSync(TRACE);
if (missing) console.log(`skipped: billing the Azure trace: ${TRACE} is not there; AZURE_TRACE names it`);

/** What the file itself says: rows and tokens, in all and by hour. */
function readTrace() {
  const [, ...rows] = readFileSync(TRACE, "utf8").trim().split(/\r?\n/);
  const hours = new Map<string, { total_usage: number; event_count: number }>();
  for (const row of rows) {
    const [timestamp = "", context, generated] = row.split(",");
    const group_key = `${timestamp.slice(0, 13).replace(" ", "T")}:00+00:00`;
    const hour = hours.get(group_key) ?? { total_usage: 0, event_count: 0 };
    hour.total_usage += Number(context) + Number(generated);
    hour.event_count += 1;
    hours.set(group_key, hour);
  }
  const tokens = [...hours.values()].reduce((sum, hour) => sum + hour.total_usage, 0);
  return { rows: rows.length, tokens, hours };
}

async function create(api: Api, path: string, body: object): Promise<number> {
  const answer = await api("POST", path, body);
  expect(answer.status, path).toBe(201);
  return answer.body.data.id;
}

/** Tries a plan that prices what went in and what came out apart, and moves the subscription to it from its first day on. */
async function priceApart(api: Api, subscription_id: number): Promise<void> {
  const meters = ["input", "output"].map((code) => ({
    code,
    name: code,
    aggregation: "sum",
    value: [{ key: `metadata:${code}` }],
  }));
  const [input, output] = [
    await create(api, "/meters", meters[0] ?? {}),
    await create(api, "/meters", meters[1] ?? {}),
  ];
  const charge = (code: string, meter_id: number, price: string) => ({
    code,
    name: code,
    type: "per_unit",
    meter_id,
    price,
    per: "1000000",
  });
  const new_billing_model_id = await create(api, "/billing-models", {
    billing_type_id: 1,
    name: "Apart",
    price: 0,
    currency: "USD",
    description: "",
    charges: [charge("input", input, "1.50"), charge("output", output, "6")],
  });
  const asked = { billing_model_id: new_billing_model_id, from: "2023-11", to: "2023-11" };
  const simulation = `/simulations/${(await api("POST", "/simulations", asked)).body.data.id}`;
  let tried: Json;
  do {
    await Bun.sleep(50);
    tried = (await api("GET", simulation)).body.data;
  } while (tried.status === "running");
  expect(tried).toMatchObject({
    reproduces: true,
    totals: { billed: "36.61", simulated: "28.57", difference: "-8.04" },
  });
  const changes = `/subscriptions/${subscription_id}/billing-model-changes`;
  const change = { new_billing_model_id, effective_at: "2023-11-01T00:00:01Z" };
  expect((await api("POST", changes, change)).status).toBe(200);
  const [{ id, totalCharges }] = (await api("GET", "/billing-records")).body.data;
  expect(totalCharges).toBe("-8.04");
  const { lines } = (await api("GET", `/billing-records/${id}`)).body.data;
  expect(lines.filter(({ kind }: Json) => kind === "charge")).toMatchObject([
    { charge_code: "input", quantity: "18059974", amount: "27.09", event_count: 8_819, skipped_events: 0 },
    { charge_code: "output", quantity: "245896", amount: "1.48", event_count: 8_819, skipped_events: 0 },
  ]);
  expect((await api("GET", `/billing-records/${id}/verify`)).body.data.matches).toBe(true);
}

test.skipIf(missing)(
  "a real trace is imported, searched by hour and billed, exactly; importing and billing again change nothing",
  async () => {
    const trace = readTrace();
    expect(trace).toMatchObject({ rows: 8_819, tokens: 18_059_974 + 245_896 });
    const place = await makeCommandFolder();
    const served = async (work: (api: Api) => Promise<void>) => {
      const server = await startServer(place.env);
      await work(await server.signIn());
      server.kill("SIGTERM");
      expect(await server.exited).toBe(0);
    };

    await served(async (api) => {
      const model = {
        billing_type_id: 2,
        name: "Per token",
        price: 0.000002,
        currency: "USD",
        description: "",
      };
      await create(api, "/subscriptions", {
        name: "Acme, tokens",
        external_subscription_id: "acme-tokens",
        client_id: await create(api, "/clients", { name: "Acme" }),
        product_id: await create(api, "/products", { name: "Code assistant" }),
        billing_model_id: await create(api, "/billing-models", model),
        started_at: "2023-11-01T00:00:00Z",
      });
    });

    // A copy, so that nothing is ever written beside the original.
    const file = join(place.data_dir, "trace.csv");
    copyFileSync(TRACE, file);
    const metadata = "{'input': ContextTokens, 'output': GeneratedTokens}";
    const sources = ["--timestamp", "TIMESTAMP", "--usage", "ContextTokens + GeneratedTokens", "--metadata"];
    const words = ["import", "usage", file, "--subscription", "'acme-tokens'", ...sources, metadata];
    for (const counts of [
      "8819 accepted, 0 duplicates, 0 rejected",
      "0 accepted, 8819 duplicates, 0 rejected",
    ]) {
      const { code, out } = await run(words, place.env);
      expect([code, out]).toEqual([0, expect.stringContaining(counts)]);
    }

    await served(async (api) => {
      const november = { start_time: Date.UTC(2023, 10, 1), end_time: Date.UTC(2023, 11, 1) };
      const { body } = await api("POST", "/usage/search", { ...november, aggregate: true, group_by: "hour" });
      const found = body.data.map(({ group_key, total_usage, event_count }: Json) => [
        group_key,
        { total_usage, event_count },
      ]);
      expect(new Map(found)).toEqual(trace.hours);

      const billed = await api("POST", "/billing-runs", { period: "2023-11" });
      expect(billed).toMatchObject({
        status: 200,
        body: { data: { status: "finished", counts: { periods: 1 } } },
      });
      const [record] = (await api("GET", "/billing-records")).body.data;
      expect(record).toMatchObject({
        billedUnits: trace.tokens,
        totalCharges: "36.61",
        billingStartAt: "2023-11-01T00:00:00.000Z",
        billingEndAt: "2023-12-01T00:00:00.000Z",
      });
      const { lines } = (await api("GET", `/billing-records/${record.id}`)).body.data;
      expect(lines).toMatchObject([
        { kind: "usage", quantity: String(trace.tokens), event_count: trace.rows },
      ]);

      const again = await api("POST", "/billing-runs", { period: "2023-11" });
      expect(again.body.data.counts).toMatchObject({ periods: 0, adjustments: 0, unchanged: 1 });
      await priceApart(api, record.subscription_id);
    });
    place.remove();
  },
);
