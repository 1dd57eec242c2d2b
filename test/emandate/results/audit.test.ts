import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { useWorld } from "../mandates/fixtures.ts";

const world = useWorld();

/** What the house did to a record, the first first. */
async function entries(type: string, id: number): Promise<Json[]> {
  const api = await world.house.signIn(world.house.admin_email);
  world.house.api = api;
  const { status, body } = await api("GET", `/audit-log?target_type=${type}&target_id=${id}&limit=100`);
  expect(status).toBe(200);
  return body.data.filter(({ actor }: Json) => actor.kind === "system").toReversed();
}

test("what polling moved has an entry by the house, with the order and the scheme's code", async () => {
  const { id } = await world.mandate("Fickle Farid");
  await world.act(id, "authorize");
  for (let step = 0; step < 2; step++) await world.pass({ seconds: 5 });
  const { order_no } = await world.read(id);
  const by_house = {
    actor: { kind: "system" },
    origin: "job",
    operation: "apply_scheme_answer",
    outcome: "ok",
  };
  const approved = { ...by_house, input: { order_no, response_code: "00", message: "Approved" } };
  expect(await entries("mandate", id)).toMatchObject([approved, approved]);

  const { body } = await world.house.api("POST", `/emandate/mandates/${id}/payments`, { amount: "20.00" });
  for (let step = 0; step < 3; step++) await world.pass({ seconds: 5 });
  const payment = await entries("mandate_payment", body.data.id);
  expect(payment.map(({ operation, input }) => [operation, input.order_no, input.response_code])).toEqual([
    ["apply_scheme_answer", body.data.order_no, "00"],
    ["apply_scheme_answer", body.data.order_no, "CB"],
  ]);
  // What said nothing new left none.
  await world.pass({ minutes: 5 });
  expect(await entries("mandate_payment", body.data.id)).toHaveLength(2);
});

test("a mandate that ended with its last day has one", async () => {
  const { id } = await world.mandateIn("active");
  const today = world.clock.now().toZonedDateTimeISO("Asia/Kuala_Lumpur").toPlainDate().toString();
  await world.act(id, "amend", { expiry_date: today }, 202);
  await world.pass({ seconds: 5 });
  await world.pass({ days: 1 });
  expect((await entries("mandate", id)).map(({ operation }) => operation)).toEqual([
    "apply_scheme_answer",
    "expire_mandate",
  ]);
});
