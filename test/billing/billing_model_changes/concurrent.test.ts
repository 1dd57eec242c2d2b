import { beforeAll, describe, expect, test } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { type Company, useBilling } from "../fixtures.ts";
import { tally } from "../subscriptions/fixtures.ts";
import { addFlatModels, JANUARY, NOW, changeTo, changesOf, eventsOf, applyDueChanges } from "./fixtures.ts";

let company: Company;
/** Flat models of 10, 20 and 30 EUR a month. */
let ten: number;
let twenty: number;
let thirty: number;

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
  ({ company, ten, twenty, thirty } = await addFlatModels(billing));
});

const change = (id: number, model: number, at: string) => changeTo(company.api, id, model, at);

describe("at once", () => {
  const twentyTimes = (work: () => Promise<Answer>) => Promise.all(Array.from({ length: 20 }, work));

  test.each([
    ["applied", NOW],
    ["scheduled", "2024-04-10T00:00:00Z"],
  ])("of twenty identical changes one is %s", async (status, at) => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    expect(tally(await twentyTimes(() => change(id, twenty, at)))).toEqual({ 200: 1, 422: 19 });
    expect((await changesOf(company.api, id)).map((one: Json) => one.status)).toEqual([status]);
    expect(await eventsOf(billing.service, company, id)).toEqual([`billing_model_change.${status}`]);
  });

  test("twenty cancels, and runs that apply, leave each change with one fate", async () => {
    for (let round = 0; round < 5; round++) {
      billing.clock.set(NOW);
      const id = await company.subscribe(ten, JANUARY);
      const { id: change_id } = (await change(id, twenty, "2024-03-20T12:00:01Z")).body.data;
      billing.clock.set("2024-03-20T12:00:02Z");
      const path = `/subscriptions/${id}/billing-model-changes/${change_id}`;
      const [, ...cancels] = await Promise.all([
        applyDueChanges(billing.service),
        company.api("DELETE", path),
        company.api("DELETE", path),
        applyDueChanges(billing.service),
      ]);
      const answers = cancels.slice(0, 2).map((answer) => (answer as Answer).status);
      const [{ status }] = await changesOf(company.api, id);
      const model = (await company.api("GET", `/subscriptions/${id}`)).body.data.billing_model_id;
      expect([status, model, answers.toSorted((a, b) => a - b)]).toBeOneOf([
        ["applied", twenty, [404, 404]],
        ["cancelled", ten, [200, 404]],
      ]);
      expect(await eventsOf(billing.service, company, id)).toEqual([
        "billing_model_change.scheduled",
        `billing_model_change.${status}`,
      ]);
    }
    billing.clock.set(NOW);
  });

  test("many runs apply every change of many subscriptions once", async () => {
    billing.clock.set(NOW);
    const ids: number[] = [];
    for (let i = 0; i < 12; i++) {
      const id = await company.subscribe(ten, JANUARY);
      await change(id, twenty, "2024-03-21T00:00:00Z");
      await change(id, thirty, "2024-03-21T00:00:01Z");
      ids.push(id);
    }
    billing.clock.set("2024-03-22T00:00:00Z");
    await Promise.all(Array.from({ length: 6 }, () => applyDueChanges(billing.service)));
    for (const id of ids) {
      expect((await eventsOf(billing.service, company, id)).slice(2)).toEqual(
        Array(2).fill("billing_model_change.applied"),
      );
      const models = (await changesOf(company.api, id)).map((one: Json) => [
        one.status,
        one.old_billing_model_id,
      ]);
      expect(models).toEqual([
        ["applied", ten],
        ["applied", twenty],
      ]);
    }
    billing.clock.set(NOW);
  });

  test("a run that closes a period and a change that reaches into it agree", async () => {
    for (let round = 0; round < 5; round++) {
      billing.clock.set("2024-04-02T00:00:00Z");
      const id = await company.subscribe(ten, { started_at: "2024-03-01T00:00:00Z" });
      const [, made] = await Promise.all([
        company.run({ subscription_ids: [id] }),
        change(id, twenty, "2024-03-15T00:00:00Z"),
      ]);
      expect(made.status).toBe(200);
      await company.run({ subscription_ids: [id] });
      const records = await company.records(id);
      expect(records.reduce((sum, { totalCharges }) => sum + Number(totalCharges), 0).toFixed(2)).toBe(
        "15.49",
      );
    }
    billing.clock.set(NOW);
  });
});
