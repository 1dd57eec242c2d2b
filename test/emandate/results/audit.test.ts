import { expect, test } from "bun:test";
import type { Json } from "../../support/harness.ts";
import { useEmandateFixture } from "../mandates/fixtures.ts";

const emandate = useEmandateFixture();

/** What the system did to a record, the first first. */
async function entries(type: string, id: number): Promise<Json[]> {
  const api = await emandate.service.signIn(emandate.service.admin_email);
  emandate.service.api = api;
  const { status, body } = await api("GET", `/audit-log?target_type=${type}&target_id=${id}&limit=100`);
  expect(status).toBe(200);
  return body.data.filter(({ actor }: Json) => actor.kind === "system").toReversed();
}

test("what polling moved has an entry by the system, with the order and the scheme's code", async () => {
  const { id } = await emandate.mandate("Fickle Farid");
  await emandate.act(id, "authorize");
  for (let step = 0; step < 2; step++) await emandate.pass({ seconds: 5 });
  const { order_no } = await emandate.read(id);
  const by_system = {
    actor: { kind: "system" },
    origin: "job",
    operation: "apply_scheme_answer",
    outcome: "ok",
  };
  const approved = { ...by_system, input: { order_no, response_code: "00", message: "Approved" } };
  expect(await entries("mandate", id)).toMatchObject([approved, approved]);

  const { body } = await emandate.service.api("POST", `/emandate/mandates/${id}/payments`, {
    amount: "20.00",
  });
  for (let step = 0; step < 3; step++) await emandate.pass({ seconds: 5 });
  const payment = await entries("mandate_payment", body.data.id);
  expect(payment.map(({ operation, input }) => [operation, input.order_no, input.response_code])).toEqual([
    ["apply_scheme_answer", body.data.order_no, "00"],
    ["apply_scheme_answer", body.data.order_no, "CB"],
  ]);
  // What said nothing new left none.
  await emandate.pass({ minutes: 5 });
  expect(await entries("mandate_payment", body.data.id)).toHaveLength(2);
});

test("a mandate that ended with its last day has one", async () => {
  const { id } = await emandate.mandateIn("active");
  const today = emandate.clock.now().toZonedDateTimeISO("Asia/Kuala_Lumpur").toPlainDate().toString();
  await emandate.act(id, "amend", { expiry_date: today }, 202);
  await emandate.pass({ seconds: 5 });
  await emandate.pass({ days: 1 });
  expect((await entries("mandate", id)).map(({ operation }) => operation)).toEqual([
    "apply_scheme_answer",
    "expire_mandate",
  ]);
});
