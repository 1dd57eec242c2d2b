import { test } from "bun:test";
import * as fc from "fast-check";
import { iso } from "../../../src/core/time.ts";
import { companyTable } from "../../../src/tenancy/companies/tables.ts";
import { DEFAULTS } from "../../../src/emandate/merchant_config/rules.ts";
import { emandateConfigTable } from "../../../src/emandate/merchant_config/tables.ts";
import { dueAt } from "../../../src/emandate/payments/rules.ts";
import { exactlyOne } from "../../../src/store/exactly_one.ts";
import { TestClock, useService } from "../../support/harness.ts";
import { propertyCases } from "../../support/properties.ts";
import { insertMandates } from "../payments/fixtures.ts";
import { mandates, steps } from "./histories.ts";
import { amount, FIRST_DAY, History } from "./history.ts";

// Random histories of mandates with both connectors, runs, crashes, changes and answers, held against a scheme that
// remembers what it was sent or given in files, and a calendar that is counted day by day.

const clock = new TestClock("2026-01-01T00:00:00Z");

const service = useService({ clock });

test("whatever happens when, no debit is sent or paid twice, beyond its mandate, or after its end, but flagged, and none is lost", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(mandates, { minLength: 1, maxLength: 4 }),
      fc.array(steps, { minLength: 3, maxLength: 25 }),
      fc.nat(),
      fc.integer({ min: 1, max: 3 }),
      async (made, taken, seed, suspend_after_failures) => {
        const { store } = service.deps;
        const company_id = await store.tx(async (q) => {
          const companies = q.use(companyTable);
          const emandate_configs = q.use(emandateConfigTable);
          const stamps = { created_at: iso(clock.now()), updated_at: iso(clock.now()) };
          const rows = await q
            .insert(companies)
            .values({ name: "Acme", timezone: "UTC", currency: "MYR", ...stamps })
            .returning({ id: companies.id });
          const { id } = exactlyOne(rows);
          await q
            .insert(emandate_configs)
            .values({ ...DEFAULTS, suspend_after_failures, company_id: id, ...stamps });
          await insertMandates(
            q,
            id,
            clock.now(),
            made.map(({ connector, frequency, starts_in, ends_in, sen, max_no_debit }) => {
              const first = FIRST_DAY.add({ days: starts_in });
              return {
                connector,
                frequency,
                max_no_debit,
                anchor_date: first.toString(),
                next_collection_at: dueAt(first),
                bankscheme_txn_amount: amount(sen),
                max_amount: amount(Math.max(sen, 10_000)),
                expiry_date: ends_in === null ? null : first.add({ days: ends_in }).toString(),
              };
            }),
          );
          return id;
        });
        const history = new History(service, company_id, seed);
        for (const step of taken) {
          await history.take(step);
          await history.check();
        }
        await history.settle();
        await history.check();
      },
    ),
    propertyCases(40),
  );
}, 3_600_000);
