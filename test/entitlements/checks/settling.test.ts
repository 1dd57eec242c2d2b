import { beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Answer, Json } from "../../support/harness.ts";
import { runNamedJob } from "../../support/jobs.ts";
import { type LimitedCompany, MONTHLY, useLimits } from "../fixtures.ts";

// Events under the id of a reservation, sent in all the ways in which clients send them twice, late or at once.

const limits = useLimits();
const NOON = "2026-03-10T12:00:00Z";
const END = "2026-03-10T12:01:00Z";
const MILLISECOND_BEFORE = "2026-03-10T12:00:59.999Z";
let company: LimitedCompany;

beforeAll(async () => {
  limits.clock.set(NOON);
  company = await limits.addLimited();
});
beforeEach(() => limits.clock.set(NOON));

/** What is used and held of the month's limit. */
async function standing(external: string, of = company) {
  const { used, reserved, certain } = (await of.check(external)).body.data;
  return { used, reserved, certain };
}
const SETTLED = { used: "3", reserved: "0", certain: true };
const HELD = { used: "0", reserved: "5", certain: true };

/** A subscription with five units held for a minute. */
async function reserve(of = company): Promise<{ external: string; id: string }> {
  const { external } = await of.entitle(MONTHLY);
  const { body } = await of.check(external, { units: 5, reserve_s: 60 });
  return { external, id: body.data.reservation.id };
}

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);
const acceptedOf = (answers: Answer[]) =>
  answers.reduce((all, { body }) => all + Number(body.data.accepted), 0);

describe("one reservation is settled once", () => {
  test("by an event that is sent again, with its time or without, in other letters of its id", async () => {
    const { external, id } = await reserve();
    expect((await company.send(external, { id: id.toUpperCase(), usage: 3 })).body.data.accepted).toBe(1);
    expect(await standing(external)).toEqual(SETTLED);
    limits.clock.set("2026-03-10T12:00:30Z");
    for (const event of [
      { id, usage: 3 },
      { id, usage: 3, timestamp: Date.parse(NOON) },
    ])
      expect((await company.send(external, event)).body.data).toEqual({ accepted: 0, duplicates: 1 });
    expect((await company.send(external, { id, usage: 4 })).status).toBe(409);
    expect(await standing(external)).toEqual(SETTLED);
    expect((await company.api("DELETE", `/usage/reservations/${id}`)).status).toBe(404);
  });

  test("by requests at once, of one content or of several", async () => {
    const same = await reserve();
    const sent = await Promise.all(
      [1, 2, 3, 4].map(() => company.send(same.external, { id: same.id, usage: 3 })),
    );
    expect([statuses(sent), acceptedOf(sent)]).toEqual([[201, 201, 201, 201], 1]);
    expect(await standing(same.external)).toEqual(SETTLED);
    const other = await reserve();
    const unlike = await Promise.all(
      [1, 2, 3].map((usage) => company.send(other.external, { id: other.id, usage })),
    );
    expect(statuses(unlike)).toEqual([201, 409, 409]);
    const kept = unlike.findIndex(({ status }) => status === 201) + 1;
    expect(await standing(other.external)).toEqual({ ...SETTLED, used: `${kept}` });
  });

  test("within one batch, which is refused whole where its contents differ", async () => {
    const { external, id } = await reserve();
    const event = { external_subscription_id: external, id, usage: 3 };
    const unlike = await company.api("POST", "/usage/events", [event, { ...event, usage: 4 }]);
    expect([unlike.status, await standing(external)]).toEqual([409, HELD]);
    const same = await company.api("POST", "/usage/events", [event, event]);
    expect([same.status, same.body.data]).toEqual([201, { accepted: 1, duplicates: 1 }]);
    expect(await standing(external)).toEqual(SETTLED);
  });

  test("and not by an event that is refused, or has another id", async () => {
    const { external, id } = await reserve();
    const event = { external_subscription_id: external, id, usage: 3 };
    const refused: [Json, number][] = [
      [[event, { ...event, id: "7" }], 422],
      [{ ...event, usage: "many" }, 422],
      [{ ...event, external_subscription_id: "nobody's" }, 422],
    ];
    for (const [body, status] of refused)
      expect((await company.api("POST", "/usage/events", body)).status).toBe(status);
    expect(await standing(external)).toEqual(HELD);
    await company.send(external, { usage: 3 });
    expect(await standing(external)).toEqual({ ...HELD, used: "3" });
  });

  test("and settled or freed where both are asked at once", async () => {
    for (let i = 0; i < 10; i++) {
      const { external, id } = await reserve();
      const [event, freed] = await Promise.all([
        company.send(external, { id, usage: 3 }),
        company.api("DELETE", `/usage/reservations/${id}`),
      ]);
      expect([event.status, [200, 404].includes(freed.status)]).toEqual([201, true]);
      expect(await standing(external)).toEqual(SETTLED);
    }
  });
});

describe("a reservation that ends while its event comes", () => {
  test("is counted once, whichever is first", async () => {
    for (const first of [MILLISECOND_BEFORE, END]) {
      limits.clock.set(NOON);
      const { external, id } = await reserve();
      limits.clock.set(first);
      const sending = company.send(external, { id, usage: 3 });
      limits.clock.set(END);
      const [sent] = await Promise.all([sending, runNamedJob(limits.service, "reservations_end")]);
      expect([sent.status, await standing(external)]).toEqual([201, SETTLED]);
      expect((await company.send(external, { id, usage: 3 })).body.data.duplicates).toBe(1);
    }
  });

  test("is taken by the one subscription whose event is stored, its own or another's", async () => {
    const { external, id } = await reserve();
    const other = await company.entitle(MONTHLY);
    limits.clock.set(MILLISECOND_BEFORE);
    expect((await company.send(other.external, { id, usage: 3 })).status).toBe(409);
    const own = company.send(external, { id, usage: 3 });
    limits.clock.set(END);
    const sent = await Promise.all([own, company.send(other.external, { id, usage: 3 })]);
    expect(statuses(sent)).toEqual([201, 409]);
    const [mine, theirs] = [await standing(external), await standing(other.external)];
    expect([Number(mine.used) + Number(theirs.used), Number(mine.used) * Number(theirs.used)]).toEqual([
      3, 0,
    ]);
    expect([mine.reserved, theirs.reserved]).toEqual(["0", "0"]);
  });
});

test("companies of the same ids have nothing of each other's reservations", async () => {
  const twins = [await limits.addLimited(), await limits.addLimited()] as const;
  const [held, other] = [await reserve(twins[0]), await reserve(twins[1])];
  expect(held.external).toBe(other.external);
  const { external, id } = held;
  expect((await twins[1].send(external, { id, usage: 2 })).body.data.accepted).toBe(1);
  expect((await twins[1].api("DELETE", `/usage/reservations/${id}`)).status).toBe(404);
  expect(await standing(external, twins[0])).toEqual(HELD);
  expect(await standing(external, twins[1])).toEqual({ ...HELD, used: "2" });
  expect((await twins[0].send(external, { id, usage: 3 })).body.data.accepted).toBe(1);
  expect(await standing(external, twins[0])).toEqual(SETTLED);
  expect(await standing(external, twins[1])).toEqual({ ...HELD, used: "2" });
});
