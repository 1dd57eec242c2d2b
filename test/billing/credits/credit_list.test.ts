import { beforeAll, describe, expect, test } from "bun:test";
import { type Company, CREDIT, FLAT, useBilling } from "../fixtures.ts";
import type { Api, Json } from "../../support/harness.ts";

// The credits of all subscriptions at once: each as its own path answers, with a forecast by a plain model.

const fixture = useBilling();
let company: Company;
let client_user: Api;
/** What each subscription has used of its 100 credits by noon of the 11th, Kuala Lumpur's time. */
const USED = [0, 5, 20, 33, 40, 79, 80, 99, 100, 130];
const ids: number[] = [];

beforeAll(async () => {
  fixture.clock.set("2026-01-31T16:00:00Z");
  company = await fixture.addCompany({ timezone: "Asia/Kuala_Lumpur" });
  const plan = await company.addModel(CREDIT);
  await company.subscribe(FLAT, { started_at: "2026-02-01" });
  const another = await company.addClient();
  for (const [i, used] of USED.entries()) {
    const client = i === 9 ? { client_id: another } : {};
    const id = await company.subscribe(plan, { name: `S${i}`, started_at: "2026-02-01", ...client });
    ids.push(id);
    if (used > 0) await company.use(id, ["2026-02-03T00:00:00Z", String(used)]);
  }
  client_user = await company.addUser("client", another);
  fixture.clock.set("2026-02-11T04:00:00Z");
});

async function list(query = "", api = company.api, path = "/credits"): Promise<Json> {
  const { status, body } = await api("GET", `${path}?limit=200${query}`);
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}

/** Counts days of use at the same rate until all is used: half a day at a time, since ten and a half have passed. */
function dayOfLast(used: number): string | null {
  if (used === 0 || used >= 100) return null;
  const a_day = used / 10.5;
  for (let day = 1; day <= 28; day += 1)
    if (a_day * day > 100 + 1e-9) return `2026-02-${String(day).padStart(2, "0")}`;
  return null;
}

describe("GET /credits", () => {
  test("answers what each subscription's own path does, the most used first", async () => {
    const { data, meta } = await list();
    expect(meta).toEqual({ page: 1, limit: 200, total: 10, total_pages: 1 });
    const percents = data.map(({ used_percent }: Json) => used_percent);
    expect(percents).toEqual([100, 100, 99, 80, 79, 40, 33, 20, 5, 0]);
    expect(data.map(({ reached }: Json) => reached)).toEqual([100, 100, 80, 80, 0, 0, 0, 0, 0, 0]);
    for (const row of data) {
      const own = (await company.api("GET", `/subscriptions/${row.subscription_id}/credits`)).body.data;
      expect(row).toMatchObject(own);
      expect([row.month_start, row.month_end]).toEqual([
        "2026-01-31T16:00:00.000Z",
        "2026-02-28T16:00:00.000Z",
      ]);
    }
    expect(data[9]).toMatchObject({ subscription_name: "S0", client_name: "Client", runs_out_on: null });
  });

  test("says on which day the credits run out, as a plain model counts it", async () => {
    const { data } = await list("&sort=runs_out_on");
    const days = data.map(({ runs_out_on }: Json) => runs_out_on);
    expect(days.filter((day: string | null) => day !== null)).toEqual(
      days.filter((day: string | null) => day !== null).toSorted(),
    );
    for (const { subscription_id, runs_out_on } of data) {
      const used = USED[ids.indexOf(subscription_id)] ?? 0;
      expect([used, runs_out_on]).toEqual([used, dayOfLast(used)]);
    }
    expect(days.filter((day: string | null) => day !== null).length).toBeGreaterThan(3);
  });

  test("narrows to a threshold or a client, page by page", async () => {
    const threshold = await list("&reached=80");
    expect(threshold.data.map(({ reached }: Json) => reached)).toEqual([100, 100, 80, 80]);
    expect((await list("&reached=100")).meta.total).toBe(2);
    expect((await list(`&client_id=${company.client_id}`)).meta.total).toBe(9);
    const pages = await Promise.all(
      [1, 2, 3, 4].map((page) => company.api("GET", `/credits?limit=3&page=${page}&sort=subscription_id`)),
    );
    const paged = pages.flatMap(({ body }) => body.data.map(({ subscription_id }: Json) => subscription_id));
    expect(paged).toEqual(ids);
    const { status } = await company.api("GET", "/credits?client_id=999999");
    expect(status).toBe(404);
    expect((await company.api("GET", "/credits?sort=name")).body.details[0].path).toBe("/sort");
  });

  test("shows a client user its own, and another company nothing", async () => {
    const mine = await list("", client_user, "/my/credits");
    expect(mine.data.map(({ subscription_name }: Json) => subscription_name)).toEqual(["S9"]);
    expect((await client_user("GET", "/credits")).status).toBe(403);
    const other = await fixture.addCompany();
    expect((await list("", other.api)).data).toEqual([]);
    expect((await other.api("GET", `/credits?client_id=${company.client_id}`)).status).toBe(404);
  });
});
