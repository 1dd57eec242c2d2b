import { describe, expect, test } from "bun:test";
import { CREDIT, PER_UNIT, useBilling } from "../billing/fixtures.ts";
import type { Json } from "../support/harness.ts";
import { runNamedJob } from "../support/jobs.ts";

// Times as people write them, wherever the API takes one, and months as they were billed.

const { clock, ...fixture } = useBilling();
const addCompany = (place: { timezone: string }) => fixture.addCompany(place);
const KL = { timezone: "Asia/Kuala_Lumpur" };

describe("times in the company's zone", () => {
  test("may be local, with an offset or Unix ms: in bodies, in queries, and in the audit log as the instant", async () => {
    clock.set("2026-03-10T02:00:00Z");
    const company = await addCompany(KL);
    const { api } = company;
    const id = await company.subscribe(PER_UNIT, { started_at: "2026-01-05" });
    const start = (await api("GET", `/subscriptions/${id}`)).body.data.started_at;
    expect(start).toBe("2026-01-04T16:00:00.000Z");
    const other = await company.addModel({ ...PER_UNIT, price: 2 });
    const change = { new_billing_model_id: other, effective_at: "2026-03-20T12:00" };
    const { status, body } = await api("POST", `/subscriptions/${id}/billing-model-changes`, change);
    expect([status, body.data.effective_at]).toEqual([200, "2026-03-20T04:00:00.000Z"]);
    const [entry] = (await api("GET", "/audit-log?operation=create_billing_model_change")).body.data;
    expect(entry.input.effective_at).toBe("2026-03-20T04:00:00.000Z");

    const total = async (query: string) => (await api("GET", `/events?${query}`)).body.meta?.total;
    expect(await total("month=2026-03")).toBeGreaterThan(0);
    expect(await total("month=2026-02")).toBe(0);
    for (const past of ["2026-03-10T10:00", "2026-03-10T10:00+08:00", "2026-03-10T02:00Z", "1773108000000"])
      expect(await total(`to=${encodeURIComponent(past)}`)).toBe(0);
    expect(await total("from=2026-03-10T10:00")).toBe(await total("relative=today"));
    expect(await total("from=2026-03-10T10:00")).toBe(await total("relative=this_week"));
  });

  test("are refused with the field and the forms, and a range is given once", async () => {
    const { api } = await addCompany(KL);
    const told = async (path: string) => (await api("GET", path)).body.details;
    const forms =
      "must be an ISO 8601 date-time with an offset, or without one in the company's time zone, or Unix milliseconds, from 1970 to 9999";
    for (const list of ["/events", "/audit-log", "/webhook-logs"]) {
      expect(await told(`${list}?from=yesterday`)).toEqual([{ path: "/from", message: forms }]);
      expect(await told(`${list}?to=1970-01-01`)).toEqual([{ path: "/to", message: forms }]);
      expect(await told(`${list}?relative=tomorrow`)).toEqual([
        { path: "/relative", message: expect.stringMatching(/^must be one of last_1h, .*, last_year$/) },
      ]);
      expect(await told(`${list}?month=2026-1`)).toEqual([
        { path: "/month", message: "must be a month such as 2026-10" },
      ]);
      expect(await told(`${list}?month=2026-10&to=2026-10-01`)).toEqual([
        { path: "/to", message: "must be left out when month is given" },
      ]);
    }
    const { status, body } = await api("POST", "/usage/search", { month: "2026-10", start_time: 0 });
    expect([status, body.details]).toEqual([
      422,
      [{ path: "/start_time", message: "must be left out when month is given" }],
    ]);
    expect((await api("POST", "/usage/search", { start_time: "now" })).body.details).toEqual([
      { path: "/start_time", message: forms },
    ]);
  });
});

describe("months of a company that moved", () => {
  test.each(["America/New_York", "Pacific/Auckland"])(
    "from Kuala Lumpur to %s: searches cut them as its bills were cut",
    async (timezone) => {
      clock.set("2026-01-01T00:00:00Z");
      const company = await addCompany(KL);
      const id = await company.subscribe(PER_UNIT, { started_at: "2026-01-01T00:00+08:00" });
      // One event an hour over the ends of the months, each of another amount.
      const ends = ["2026-01-31T00:00Z", "2026-02-28T00:00Z", "2026-03-31T00:00Z", "2026-04-30T00:00Z"];
      const hours = ends.flatMap((end) =>
        Array.from({ length: 48 }, (_, hour) => Temporal.Instant.from(end).add({ hours: hour })),
      );
      await company.use(id, ...hours.map((at, i): [string, string] => [at.toString(), String(i + 1)]));
      clock.set("2026-02-10T00:00:00Z");
      const company_now = (await company.api("GET", "/company")).body.data;
      const { name, currency } = company_now;
      expect((await company.api("PUT", "/company", { name, currency, timezone })).status).toBe(200);
      clock.set("2026-05-20T00:00:00Z");
      await company.run();

      const bills = await company.records(id);
      const billed = bills.map((bill: Json) => [bill.billingStartAt, bill.billedUnits]);
      const ask = async (question: Json) =>
        (await company.api("POST", "/usage/search", { aggregate: true, ...question })).body.data;
      const groups: Json[] = await ask({ group_by: "month" });
      expect(groups.map(({ group_key }) => group_key)).toEqual(
        ["2026-01", "2026-02", "2026-03", "2026-04", "2026-05"].slice(0, groups.length),
      );
      expect(billed).toHaveLength(4);
      expect(groups.slice(0, 4).map(({ total_usage }) => total_usage)).toEqual(
        billed.map(([, units]) => units),
      );
      for (const [i, month] of ["2026-01", "2026-02", "2026-03", "2026-04"].entries()) {
        const [{ total_usage }] = await ask({ month });
        expect([month, total_usage]).toEqual([month, billed[i]?.[1]]);
      }
      const [{ total_usage: last_month }] = await ask({ relative: "last_month" });
      expect(last_month).toBe(billed[3]?.[1]);
    },
  );
});

describe("the next period", () => {
  test("is where a change, a downgrade and a cancellation take effect that ask for it, and follows the zone", async () => {
    clock.set("2026-03-10T00:00:00Z");
    const company = await addCompany(KL);
    const { api } = company;
    const ask = async (path: string, body: object) => {
      const { status, body: answer } = await api("POST", path, body);
      expect([path, status, answer.error]).toEqual([path, 200, undefined]);
      return answer.data;
    };
    const small = {
      billing_type_id: 6,
      price: 5,
      credit_plan: { ...CREDIT.credit_plan, monthly_credits: 10 },
    };
    const [dearer, less] = [await company.addModel({ ...PER_UNIT, price: 9 }), await company.addModel(small)];
    const life = { started_at: "2026-01-15", billing_anchor_day: 15 };
    const [changed, downgraded, cancelled] = [
      await company.subscribe(PER_UNIT, life),
      await company.subscribe(CREDIT, life),
      await company.subscribe(PER_UNIT, life),
    ];
    const next_period = "next_period";
    const end = "2026-03-14T16:00:00.000Z";
    const change = { new_billing_model_id: dearer, effective_at: next_period };
    const path = `/subscriptions/${changed}/billing-model-changes`;
    expect((await ask(`${path}/preview`, change)).effective_at).toBe(end);
    expect(await ask(path, change)).toMatchObject({ status: "scheduled", effective_at: end });
    const downgrade = { new_billing_model_id: less, effective_at: next_period };
    expect(await ask(`/subscriptions/${downgraded}/downgrade`, downgrade)).toMatchObject({
      effective_at: end,
    });
    expect(await ask(`/subscriptions/${cancelled}/cancel`, { at: next_period })).toMatchObject({
      ends_at: end,
    });
    const { status, body } = await api("POST", `/subscriptions/${cancelled}/cancel`, { at: next_period });
    expect([status, body.error]).toEqual([
      409,
      `Cannot cancel subscription ${cancelled}: it ends at ${end} already`,
    ]);
    const bad = await api("POST", path, { ...change, effective_at: "soon" });
    expect([bad.status, bad.body.details]).toEqual([
      422,
      [
        {
          path: "/effective_at",
          message:
            "must be next_period: the end of the running billing period; or an instant, local, with an offset or in Unix ms",
        },
      ],
    ]);
    // The zone that is set now is followed by what waits for a period after the running one.
    const { name, currency } = (await api("GET", "/company")).body.data;
    const moved = { name, currency, timezone: "Asia/Tokyo" };
    expect((await api("PUT", "/company", moved)).status).toBe(200);
    expect((await api("GET", path)).body.data[0].effective_at).toBe(end);
    clock.set("2026-03-15T00:00:00Z");
    await runNamedJob(fixture.service, "billing_model_changes");
    expect((await api("GET", path)).body.data[0].status).toBe("applied");
  });
});
