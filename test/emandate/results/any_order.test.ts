import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import { type Json, TestClock, useService } from "../../support/harness.ts";
import { propertyCases } from "../../support/properties.ts";
import { addMandate, answer, at, CHARGED_BACK, getPayment, paymentsOf } from "../payments/fixtures.ts";

// A bank that says anything of any debit, in any order: what it says at last is what the records say, or is flagged.

const clock = new TestClock("2026-03-01T00:00:00Z");

const service = useService({ clock });

const ANSWERS = {
  paid: resultOf("00", "TXN1"),
  "no funds": resultOf("51"),
  closed: resultOf("53"),
  "a fault": resultOf("OF"),
  "our mistake": resultOf("30"),
  "charged back": CHARGED_BACK,
} as const;

const steps = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      of: fc.nat({ max: 3 }),
      said: fc.constantFrom<keyof typeof ANSWERS>(
        "paid",
        "no funds",
        "closed",
        "a fault",
        "our mistake",
        "charged back",
      ),
    }),
  },
  { weight: 2, arbitrary: fc.constant("retry" as const) },
  { weight: 1, arbitrary: fc.constant("by hand" as const) },
  { weight: 1, arbitrary: fc.constant("cancel" as const) },
  { weight: 1, arbitrary: fc.constant("resume" as const) },
);

test("whatever the bank says of debits in whichever order, none is paid twice or taken back unflagged", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 2, maxLength: 12 }), async (taken) => {
      clock.set(at("2026-03-10"));
      const tenant = await service.addTenant();
      const { api } = tenant;
      const mandate = await addMandate(service.deps, tenant, "2026-03-10");
      expect((await api("POST", "/emandate/collections/run", {})).status).toBe(202);
      const said = new Map<string, keyof typeof ANSWERS>();
      const orderNos = async () => {
        const payments: Json[] = await paymentsOf(api, mandate);
        const found = await Promise.all(payments.map(({ id }) => getPayment(api, id)));
        return found.flatMap(({ attempts }) => attempts.map(({ order_no }: Json) => order_no));
      };
      for (const step of taken) {
        const [payment] = await paymentsOf(api, mandate);
        if (step === "retry" || step === "cancel")
          await api("POST", `/emandate/payments/${payment.id}/${step}`, {});
        else if (step === "by hand") {
          const flags: Json[] = (await api("GET", "/emandate/flags?limit=100")).body.data;
          // Money that came back and is said to be there again: a person decides.
          const known = new Set(
            flags.filter(({ reason }) => reason === "paid_after_return").map((one) => one.order_no),
          );
          const sent = (await orderNos()).filter((one) => !known.has(one));
          const moving = sent.filter((one) => ["paid", undefined].includes(said.get(one)));
          const { status } = await api("POST", `/emandate/mandates/${mandate}/payments`, { amount: "50.00" });
          if (status === 201) expect(moving).toEqual([]);
        } else if (step === "resume") await api("POST", `/emandate/mandates/${mandate}/resume`, {});
        else {
          const all = await orderNos();
          const order_no = all[step.of % all.length];
          // Of the debit itself, as files say it.
          await answer(service.deps, tenant, order_no, { ...ANSWERS[step.said], answers: "payment" });
          said.set(order_no, step.said);
        }
        const flags: Json[] = (await api("GET", "/emandate/flags?limit=100")).body.data;
        const flagged = new Set(flags.map(({ payment_id }) => payment_id));
        const payments: Json[] = await paymentsOf(api, mandate);
        for (const { id, status, order_no } of payments) {
          if (flagged.has(id)) continue;
          const { attempts } = await getPayment(api, id);
          const paid = attempts.filter((one: Json) => said.get(one.order_no) === "paid");
          expect({ status, order_no, paid: paid.map((one: Json) => one.order_no) }).toEqual({
            status: paid.length > 0 ? "paid" : expect.not.stringMatching(/^paid$/),
            order_no,
            paid: paid.length > 0 ? [order_no] : [],
          });
        }
        const is_beyond = flags.some(({ reason }) => reason === "paid_beyond_limit");
        const paid = payments.filter(({ status }) => status === "paid");
        expect(paid.length <= 1 || is_beyond).toBe(true);
      }
    }),
    propertyCases(20),
  );
}, 600_000);
