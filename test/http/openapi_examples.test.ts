import { beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import shownAnswers from "../../src/http/answer_examples.json" with { type: "json" };
import { type Json, TestClock, useService } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

// What the documentation shows is sent, in an order in which the records that the examples name are there. What it shows
// as answers is what is answered then: UPDATE_EXAMPLES=1 writes it anew. The linter of openapi.test.ts holds these
// answers to their schemas.

const service = useService({ clock: new TestClock("2026-05-10T12:00:00Z") });
const ORDER: [method: string, path: string, values?: Record<string, string>][] = [
  ["post", "/clients"],
  ["put", "/clients/{id}"],
  ["post", "/products"],
  ["put", "/products/{id}"],
  ["post", "/meters"],
  ["put", "/meters/{id}"],
  ["post", "/features"],
  ["put", "/features/{id}"],
  ["post", "/billing-models"],
  ["put", "/billing-models/{id}"],
  ["post", "/billing-models/{id}/copy"],
  ["post", "/subscriptions"],
  ["post", "/usage/events"],
  ["post", "/usage/series"],
  ["post", "/usage/values"],
  ["post", "/views"],
  ["put", "/views/{id}"],
  ["post", "/meters/try"],
  ["put", "/subscriptions/{id}/entitlements/{code}", { code: "output_tokens" }],
  ["put", "/subscriptions/{id}/spend-limit"],
  ["post", "/usage/check"],
  ["post", "/alerts"],
  ["put", "/alerts/{id}"],
  ["post", "/add-ons"],
  ["put", "/add-ons/{id}"],
  ["post", "/subscriptions/{id}/add-ons"],
  ["put", "/subscriptions/{id}/add-ons/{bookingId}"],
  ["post", "/subscriptions/{id}/billing-model-changes/preview"],
  ["post", "/billing-models/quote"],
  ["post", "/billing-model-migrations"],
  ["post", "/simulations"],
  ["post", "/webhook-logs/redeliver"],
  ["post", "/usage/imports/{id}/run"],
];

/** Requests whose answers are shown, once everything above was sent and billed. */
const READ: [path: string, place?: { id?: string; query?: string }][] = [
  ["/meters"],
  ["/meters/{id}"],
  ["/features"],
  ["/features/{id}"],
  ["/billing-models/{id}"],
  ["/subscriptions/{id}/entitlements"],
  ["/subscriptions/{id}/spend-limit"],
  ["/alerts"],
  ["/alerts/{id}"],
  ["/simulations"],
  ["/simulations/{id}", { id: "3" }],
  ["/simulations/{id}/rows", { id: "3" }],
  ["/running-bills"],
  ["/revenue", { query: "?month=2026-01&group_by=client" }],
  ["/revenue/margins", { query: "?cost_model_id=4&from=2026-01&to=2026-01" }],
];
/** The requests above whose first answer is shown. */
const SHOWN =
  /(preview|quote)$|^post \/(meters|meters\/try|features|billing-models|usage\/check|alerts|simulations)$|^put .*(meters|features|entitlements|spend-limit|alerts)/;

let document: Json;

beforeAll(async () => {
  document = (await service.anonymous("GET", "origin:/openapi.json")).body;
  const file = "customer,time,input,output,model\nacme,2026-01-05T00:00:00Z,1,2,small\n";
  const type = { "content-type": "text/csv" };
  await service.api("POST", "/usage/imports/files?file_name=usage.csv", file, type);
});

/** The schema that a reference leads to. */
function follow(schema: Json): Json {
  return schema?.$ref === undefined ? schema : document.components.schemas[schema.$ref.split("/").at(-1)];
}

/** The bodies that the documentation shows, by method and path. */
function shown(): Map<string, Json[]> {
  const places = Object.entries<Json>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Json>(methods).map(([method, { requestBody }]): [string, Json[]] => [
      `${method} ${path.replace("/api/v1", "")}`,
      follow(requestBody?.content?.["application/json"]?.schema)?.examples ?? [],
    ]),
  );
  // What client users send is the same as what their company does.
  return new Map(places.filter(([name, examples]) => examples.length > 0 && !name.includes(" /my/")));
}

const ANSWERS = join(import.meta.dir, "../../src/http/answer_examples.json");

test("every example of the documentation is a request that is answered, as its answers show", async () => {
  const examples = shown();
  const sent = new Set<string>();
  const answers: Record<string, { status: number; body: Json }> = {};
  for (const [method, path, values = {}] of ORDER) {
    const name = `${method} ${path}`;
    expect(examples.get(name), name).toBeArray();
    sent.add(name);
    const filled = path.replaceAll(/\{(\w+)\}/g, (_, field: string) => values[field] ?? "1");
    for (const body of examples.get(name) ?? []) {
      if (name === "post /usage/check") await haveCounted(filled, body);
      const answer = await service.api(method.toUpperCase(), filled, body);
      expect([200, 201, 202], `${name}: ${JSON.stringify(answer.body)}`).toContain(answer.status);
      if (SHOWN.test(name)) answers[name] ??= { status: answer.status, body: answer.body };
    }
  }
  expect([...examples.keys()].filter((name) => !sent.has(name))).toEqual([]);
  await billAndSimulate();
  for (const [path, { id = "1", query = "" } = {}] of READ) {
    const { status, body } = await service.api("GET", path.replace("{id}", id) + query);
    expect(status, `${path}: ${JSON.stringify(body)}`).toBe(200);
    answers[`get ${path}`] = { status, body };
  }
  if (process.env.UPDATE_EXAMPLES === "1") writeFileSync(ANSWERS, `${JSON.stringify(answers, null, 2)}\n`);
  else expect<Json>(answers, "UPDATE_EXAMPLES=1 writes them anew").toEqual(shownAnswers);
});

/** Has rated and counted what a check needs, which the first one begins to count. */
async function haveCounted(path: string, check: Json): Promise<void> {
  await runNamedJob(service, "spend_limits");
  await service.api("POST", path, { ...check, reserve_s: undefined });
  await service.deps.usage.running_totals.counted();
}

/** Bills January, looks for alerts, and works out what its usage cost. */
async function billAndSimulate(): Promise<void> {
  const run = await service.api("POST", "/billing-runs", { period: "2026-01" });
  expect(run.status, JSON.stringify(run.body)).toBe(200);
  await runNamedJob(service, "alerts");
  await runNamedJob(service, "running_bills");
  // What was started before goes on first: two at a time.
  await runNamedJob(service, "simulations");
  const cost = await service.api("POST", "/billing-models", {
    billing_type_id: 1,
    purpose: "cost",
    name: "What tokens cost",
    price: 0,
    currency: "USD",
    description: "",
    charges: [{ code: "input", name: "Input", type: "per_unit", meter_id: 1, price: "1", per: "1000000" }],
  });
  const months = { from: "2026-01", to: "2026-01" };
  const asked = await service.api("POST", "/simulations", { billing_model_id: cost.body.data.id, ...months });
  expect(asked.status, JSON.stringify(asked.body)).toBe(202);
  await runNamedJob(service, "simulations");
}
