import { beforeAll, describe, expect, test } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { type Company, FLAT, useBilling } from "../fixtures.ts";
import {
  changeTo,
  changesOf,
  eventsOf,
  outboxOf,
  applyDueChanges,
} from "../billing_model_changes/fixtures.ts";
import { tally } from "../subscriptions/fixtures.ts";
import { JANUARY, NOW, plan } from "./fixtures.ts";

let company: Company;
/** Plans of 1,000, 2,000 and 500 credits a month. */
let middle: number;
let large: number;
let small: number;

const billing = useBilling();

beforeAll(async () => {
  billing.clock.set(NOW);
  company = await billing.addCompany();
  middle = await company.addModel(plan(1000));
  large = await company.addModel(plan(2000));
  small = await company.addModel(plan(500));
});

const credits = (id: number) => company.api("GET", `/subscriptions/${id}/credits`);
const balance = async (id: number) => (await credits(id)).body.data;
const turn = (way: "upgrade" | "downgrade", id: number, new_billing_model_id: number) =>
  company.api("POST", `/subscriptions/${id}/${way}`, { new_billing_model_id });
const brief = (changes: Json[]) => changes.map((one) => [one.kind, one.status, one.new_billing_model_id]);

describe("an upgrade", () => {
  test("applies at once and adds the difference by the days left, today included, rounded up", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, JANUARY);
    await company.use(id, ["2024-03-02T00:00:00Z", "900"]);
    const { status, body } = await turn("upgrade", id, large);
    expect(status).toBe(200);
    expect(body.data).toMatchObject({
      kind: "upgrade",
      status: "applied",
      effective_at: NOW,
      applied_at: NOW,
      old_billing_model_id: middle,
      new_billing_model_id: large,
      credits_added: 549, // 1000 × 17 / 31
    });
    expect(await balance(id)).toMatchObject({
      allocated: 1549,
      used: 900,
      remaining: 649,
      planName: "Plan 2000",
    });
    expect(await eventsOf(billing.service, company, id)).toEqual([
      "billing_model_change.applied",
      "credits.upgraded",
    ]);
    const [, told] = await outboxOf(billing.service, company, id);
    expect(told?.data).toMatchObject({ id: body.data.id, subscription_id: id, credits_added: 549 });
    billing.clock.set("2024-04-01T00:00:00Z");
    expect(await balance(id)).toMatchObject({ allocated: 2000, used: 0 });
    billing.clock.set(NOW);
  });

  test("in the same instant as another takes the next one", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(small, JANUARY);
    const added = [
      (await turn("upgrade", id, middle)).body.data,
      (await turn("upgrade", id, large)).body.data,
    ];
    expect(added.map((one) => one.credits_added)).toEqual([275, 549]);
    expect(await balance(id)).toMatchObject({ allocated: 500 + 275 + 549 });
    expect((await changesOf(company.api, id)).map((one) => one.effective_at)).toEqual([
      NOW,
      "2024-03-15T10:00:00.001Z",
    ]);
  });

  test("spent and turned back refunds nothing, and gives nothing twice", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, JANUARY);
    await turn("upgrade", id, large);
    await company.use(id, [NOW, "1500"]);
    billing.clock.set("2024-03-16T00:00:00Z");
    expect((await changeTo(company.api, id, small, "2024-03-16T00:00:00Z")).status).toBe(200);
    expect(await balance(id)).toMatchObject({ allocated: 1549, used: 1500, remaining: 49 });
    billing.clock.set("2024-03-17T00:00:00Z");
    expect((await turn("upgrade", id, large)).body.data).toMatchObject({ credits_added: 0 });
    expect(await balance(id)).toMatchObject({ allocated: 1549, used: 1500, remaining: 49 });
    billing.clock.set(NOW);
  });

  test.each<[string, () => Promise<[number, number]>, string]>([
    [
      "as many",
      async () => [
        await company.subscribe(middle, JANUARY),
        await company.addModel(plan(1000, { price: 9 })),
      ],
      "more credits",
    ],
    ["fewer credits", async () => [await company.subscribe(middle, JANUARY), small], "more credits"],
    ["the same plan", async () => [await company.subscribe(middle, JANUARY), middle], "more credits"],
    [
      "no credits",
      async () => [await company.subscribe(middle, JANUARY), await company.addModel(FLAT)],
      "credit plan",
    ],
    [
      "a plan for who has none",
      async () => [await company.subscribe(FLAT, JANUARY), large],
      "not credit-based",
    ],
    [
      "another currency",
      async () => [
        await company.subscribe(middle, JANUARY),
        await company.addModel(plan(9000, { currency: "USD" })),
      ],
      "currency, EUR",
    ],
    [
      "a model that nobody has",
      async () => [await company.subscribe(middle, JANUARY), 999_999],
      "names no active",
    ],
    [
      "another company's",
      async () => [
        await company.subscribe(middle, JANUARY),
        await (await billing.addCompany()).addModel(plan(9000)),
      ],
      "names no active",
    ],
    [
      "a plan before the start",
      async () => [await company.subscribe(middle, { started_at: "2024-05-01T00:00:00Z" }), large],
      "start",
    ],
    [
      "a plan after the end",
      async () => {
        const id = await company.subscribe(middle, JANUARY);
        await company.api("POST", `/subscriptions/${id}/cancel`, { at: "now" });
        return [id, large];
      },
      "end",
    ],
    [
      "the plan that is scheduled next",
      async () => {
        const id = await company.subscribe(middle, JANUARY);
        await changeTo(company.api, id, large, "2024-03-20T00:00:00Z");
        return [id, large];
      },
      "next scheduled change",
    ],
  ])("to %s is a 422", async (_, given, message) => {
    billing.clock.set(NOW);
    const [id, model] = await given();
    const before = await changesOf(company.api, id);
    const { status, body } = await turn("upgrade", id, model);
    expect([status, body.details]).toEqual([
      422,
      [{ path: "/new_billing_model_id", message: expect.stringContaining(message) }],
    ]);
    expect(await changesOf(company.api, id)).toEqual(before);
  });

  test("of twenty at once is made once", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, JANUARY);
    const answers = await Promise.all(Array.from({ length: 20 }, () => turn("upgrade", id, large)));
    expect(tally(answers)).toEqual({ 200: 1, 422: 19 });
    expect(await eventsOf(billing.service, company, id)).toEqual([
      "billing_model_change.applied",
      "credits.upgraded",
    ]);
    expect(await balance(id)).toMatchObject({ allocated: 1549 });
  });
});

describe("a downgrade", () => {
  test("waits for the next billing month, in the subscription's anchor and the company's zone", async () => {
    const ahead = await billing.addCompany({ timezone: "Asia/Kuala_Lumpur" });
    const [more, less] = [await ahead.addModel(plan(1000)), await ahead.addModel(plan(500))];
    billing.clock.set(NOW);
    const id = await ahead.subscribe(more, { ...JANUARY, billing_anchor_day: 31 });
    const { status, body } = await ahead.api("POST", `/subscriptions/${id}/downgrade`, {
      new_billing_model_id: less,
    });
    expect([status, body.data]).toMatchObject([
      200,
      {
        kind: "downgrade",
        status: "scheduled",
        effective_at: "2024-03-30T16:00:00.000Z",
        credits_added: null,
      },
    ]);
    const local = async () => (await ahead.api("GET", `/subscriptions/${id}/credits`)).body.data.allocated;
    billing.clock.set("2024-03-30T15:59:59.999Z");
    await applyDueChanges(billing.service);
    expect(await local()).toBe(1000);
    billing.clock.set("2024-03-30T16:00:01Z");
    await applyDueChanges(billing.service);
    expect(await local()).toBe(500);
    expect(await eventsOf(billing.service, ahead, id)).toEqual([
      "billing_model_change.scheduled",
      "credits.downgrade_scheduled",
      "billing_model_change.applied",
    ]);
    billing.clock.set(NOW);
  });

  test("is replaced by a newer one, or by an upgrade", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(large, JANUARY);
    expect((await turn("downgrade", id, middle)).status).toBe(200);
    expect((await turn("downgrade", id, middle)).status).toBe(422);
    expect((await turn("downgrade", id, small)).status).toBe(200);
    expect(brief(await changesOf(company.api, id))).toEqual([
      ["downgrade", "cancelled", middle],
      ["downgrade", "scheduled", small],
    ]);
    const huge = await company.addModel(plan(3000));
    expect((await turn("upgrade", id, huge)).status).toBe(200);
    expect(brief(await changesOf(company.api, id))).toEqual([
      ["upgrade", "applied", huge],
      ["downgrade", "cancelled", middle],
      ["downgrade", "cancelled", small],
    ]);
    expect(await balance(id)).toMatchObject({ allocated: 2000 + 549 });
    expect(await eventsOf(billing.service, company, id)).toEqual([
      "billing_model_change.scheduled",
      "credits.downgrade_scheduled",
      "billing_model_change.cancelled",
      "billing_model_change.scheduled",
      "credits.downgrade_scheduled",
      "billing_model_change.cancelled",
      "billing_model_change.applied",
      "credits.upgraded",
    ]);
  });

  test.each<[string, () => Promise<[number, number]>, string]>([
    ["more credits", async () => [await company.subscribe(middle, JANUARY), large], "fewer credits"],
    ["as many", async () => [await company.subscribe(middle, JANUARY), middle], "fewer credits"],
    [
      "no credits",
      async () => [await company.subscribe(middle, JANUARY), await company.addModel(FLAT)],
      "credit plan",
    ],
    [
      "a plan after the end",
      async () => {
        const id = await company.subscribe(middle, JANUARY);
        await company.api("POST", `/subscriptions/${id}/cancel`, { at: "period_end" });
        return [id, small];
      },
      "end, 2024-04-01",
    ],
    [
      "a plan at an instant that is taken",
      async () => {
        const id = await company.subscribe(middle, JANUARY);
        await changeTo(company.api, id, large, "2024-04-01T00:00:00Z");
        return [id, small];
      },
      "duplicate schedule",
    ],
  ])("to %s is a 422", async (_, given, message) => {
    billing.clock.set(NOW);
    const [id, model] = await given();
    const { status, body } = await turn("downgrade", id, model);
    expect([status, body.details]).toEqual([
      422,
      [{ path: "/new_billing_model_id", message: expect.stringContaining(message) }],
    ]);
  });

  test("of twenty at once is made once", async () => {
    billing.clock.set(NOW);
    const id = await company.subscribe(middle, JANUARY);
    const answers = await Promise.all(Array.from({ length: 20 }, () => turn("downgrade", id, small)));
    expect(tally(answers)).toEqual({ 200: 1, 422: 19 });
    expect(brief(await changesOf(company.api, id))).toEqual([["downgrade", "scheduled", small]]);
  });

  test.each([
    [{}, "/new_billing_model_id"],
    [{ new_billing_model_id: 1.5 }, "/new_billing_model_id"],
    [{ new_billing_model_id: 1, effective_at: NOW }, "/effective_at"],
  ])("with a body that is none is a 422: %j", async (body, path) => {
    const id = await company.subscribe(middle, JANUARY);
    for (const way of ["upgrade", "downgrade"]) {
      const answer: Answer = await company.api("POST", `/subscriptions/${id}/${way}`, body);
      expect([answer.status, answer.body.details[0].path]).toEqual([422, path]);
    }
  });
});
