import { expect, test } from "bun:test";
import { EVENT_TYPES, type EventData } from "../../src/webhooks/events/model.ts";
import { subjectOf } from "../../src/webhooks/events/rules.ts";
import { migrateWithRows } from "./migrate_with_rows.ts";

/** Of each type one event with all that it may be about. */
const EVENTS = EVENT_TYPES.map((type, i) => ({ type, data: dataOf(type, i + 1) }));

function dataOf(type: string, id: number): EventData {
  if (/^emandate\.(payment|flag)/.test(type)) return { id, mandate_id: 70 };
  if (/^(document|consent)/.test(type)) return { id, application_id: 80 };
  const is_own =
    /^(client|product|meter|add_on|billing_model|migration|simulation|application|emandate\.mandate)\./;
  if (is_own.test(type) || /^subscription\.(created|updated|cancelled)/.test(type))
    return { id, client_id: 60 };
  return { id, subscription_id: 90 };
}

test("events from before have the subject that they would have now", async () => {
  const at = "'2026-01-01T00:00:00.000Z'";
  const rows = [
    `INSERT INTO companies (id, name, timezone, currency, created_at, updated_at) VALUES (1, 'Acme', 'UTC', 'EUR', ${at}, ${at})`,
    ...EVENTS.map(
      ({ type, data }, i) =>
        `INSERT INTO events (id, company_id, message_id, type, data, created_at) VALUES (${i + 1}, 1, 'msg_${i}', '${type}', '${JSON.stringify(data)}', ${at})`,
    ),
  ];
  const found = await migrateWithRows("events_subject", rows, "SELECT subject FROM events ORDER BY id");
  expect(found.map(({ subject }) => subject)).toEqual(EVENTS.map(subjectOf));
  expect(new Set(found.map(({ subject }) => String(subject).split(":")[0]))).toEqual(
    new Set([
      "client",
      "product",
      "meter",
      "add_on",
      "billing_model",
      "subscription",
      "migration",
      "simulation",
      "mandate",
      "application",
    ]),
  );
});
