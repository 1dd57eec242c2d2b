import { beforeAll, describe, expect, test } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";
import { addFlatModels, JANUARY, NOW, changeTo, changesOf } from "./fixtures.ts";

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
const problem = ({ status, body }: Answer) => [status, body.details?.[0]];

describe("the timeline refuses", () => {
  const cases: [string, () => Promise<[number, number, string]>, string, string][] = [
    [
      "the same model",
      async () => [await company.subscribe(ten, JANUARY), ten, NOW],
      "/new_billing_model_id",
      "same model",
    ],
    [
      "the model in force then, though another one is now",
      async () => {
        const id = await company.subscribe(ten, JANUARY);
        await change(id, twenty, "2024-04-10T00:00:00Z");
        return [id, twenty, "2024-04-20T00:00:00Z"];
      },
      "/new_billing_model_id",
      "same model",
    ],
    [
      "the model that the next scheduled change turns to",
      async () => {
        const id = await company.subscribe(ten, JANUARY);
        await change(id, twenty, "2024-04-10T00:00:00Z");
        return [id, twenty, "2024-04-05T00:00:00Z"];
      },
      "/new_billing_model_id",
      "next scheduled change",
    ],
    [
      "an instant that is taken",
      async () => {
        const id = await company.subscribe(ten, JANUARY);
        await change(id, twenty, "2024-04-10T00:00:00Z");
        return [id, thirty, "2024-04-10T02:00:00+02:00"];
      },
      "/effective_at",
      "duplicate schedule",
    ],
    [
      "before the start",
      async () => [await company.subscribe(ten, JANUARY), twenty, "2023-12-31T23:59:59.999Z"],
      "/effective_at",
      "start",
    ],
    [
      "before the last applied change",
      async () => {
        const id = await company.subscribe(ten, JANUARY);
        await change(id, twenty, "2024-03-10T00:00:00Z");
        return [id, thirty, "2024-03-09T23:59:59.999Z"];
      },
      "/effective_at",
      "last applied change",
    ],
    [
      "after the end",
      async () => {
        const id = await company.subscribe(ten, JANUARY);
        await company.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
        return [id, twenty, "2024-04-01T00:00:00.001Z"];
      },
      "/effective_at",
      "end, 2024-04-01",
    ],
    [
      "another currency",
      async () => [
        await company.subscribe(ten, JANUARY),
        await company.addModel({ ...FLAT, currency: "USD" }),
        NOW,
      ],
      "/new_billing_model_id",
      "currency, EUR",
    ],
    [
      "a deleted model",
      async () => {
        const gone = await company.addModel(FLAT);
        await company.api("DELETE", `/billing-models/${gone}`);
        return [await company.subscribe(ten, JANUARY), gone, NOW];
      },
      "/new_billing_model_id",
      "names no active billing model",
    ],
    [
      "another company's model",
      async () => {
        const other = await billing.addCompany();
        return [await company.subscribe(ten, JANUARY), await other.addModel(FLAT), NOW];
      },
      "/new_billing_model_id",
      "names no active billing model",
    ],
    [
      "a slip of the keyboard",
      async () => [await company.subscribe(ten, JANUARY), twenty, "2124-03-21T00:00:00Z"],
      "/effective_at",
      "100 years",
    ],
  ];
  test.each(cases)("%s", async (_, given, path, message) => {
    billing.clock.set(NOW);
    const [id, model, at] = await given();
    const before = await changesOf(company.api, id);
    const answer = await change(id, model, at);
    expect(problem(answer)).toEqual([422, { path, message: expect.stringContaining(message) }]);
    expect(await changesOf(company.api, id)).toEqual(before);
  });

  test.each([
    [{}, ["/new_billing_model_id", "/effective_at"]],
    [{ new_billing_model_id: "1", effective_at: NOW }, ["/new_billing_model_id"]],
    [{ new_billing_model_id: 1, effective_at: "2099-02-31T00:00:00Z" }, ["/effective_at"]],
    [{ new_billing_model_id: 1, effective_at: "2024-13-20" }, ["/effective_at"]],
    [{ new_billing_model_id: 1, effective_at: NOW, kind: "upgrade" }, ["/kind"]],
  ])("a body that is none: %j", async (body, paths) => {
    const id = await company.subscribe(ten, JANUARY);
    const answer = await company.api("POST", `/subscriptions/${id}/billing-model-changes`, body);
    expect(answer.status).toBe(422);
    expect(answer.body.details.map(({ path }: Json) => path)).toEqual(paths);
  });

  test("ids that are not the caller's, on every path", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(ten, JANUARY);
    const scheduled = (await change(id, twenty, "2024-04-10T00:00:00Z")).body.data;
    const other = await billing.addCompany();
    const model = await other.addModel(FLAT);
    const base = `/subscriptions/${id}/billing-model-changes`;
    const body = { new_billing_model_id: model, effective_at: NOW };
    expect((await other.api("GET", base)).status).toBe(404);
    expect((await other.api("POST", base, body)).status).toBe(404);
    expect((await other.api("DELETE", `${base}/${scheduled.id}`)).status).toBe(404);
    expect((await company.api("DELETE", `${base}/0`)).status).toBe(422);
    const sibling = await company.subscribe(ten, JANUARY);
    const wrong = `/subscriptions/${sibling}/billing-model-changes/${scheduled.id}`;
    expect((await company.api("DELETE", wrong)).status).toBe(404);
    expect((await changesOf(company.api, id))[0].status).toBe("scheduled");
  });
});
