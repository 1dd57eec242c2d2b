import type { Event, SUBJECT_KINDS } from "../../webhooks/events/model.ts";
import { useAnswer } from "../api/cache.ts";
import { list } from "../api/call.ts";
import { BASE } from "../app/find_page.ts";
import { may } from "../app/session.ts";
import { words } from "./names.ts";
import { Section } from "./page.tsx";
import { RecordLink } from "./record_link.tsx";
import { Await } from "./states.tsx";
import { Timeline } from "./timeline.tsx";

const listEvents = list<typeof Event>("/events");

/** What the audit log calls the records that it calls otherwise than their events do. */
const AUDITED: Record<string, string> = {
  migration: "billing_model_migration",
  application: "loan_application",
};

/** What happened to a record, as webhooks tell it, the last first; and the way to who did it. */
export function History({ of, id }: { of: (typeof SUBJECT_KINDS)[number]; id: number }) {
  const subject = `${of}:${id}`;
  const events = useAnswer(listEvents, may("events:read") ? { subject, page: 1, limit: 10 } : null);
  if (!may("events:read")) return null;
  return (
    <Section
      title="History"
      actions={
        <>
          <a href={`${BASE}/developers/events?subject=${subject}`}>All events</a>
          {may("audit:read") && (
            <a href={`${BASE}/settings/audit-log?target_type=${AUDITED[of] ?? of}&target_id=${id}`}>
              Who did it
            </a>
          )}
        </>
      }
    >
      <Await of={events}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">Nothing in the last 90 days.</p>
          ) : (
            <Timeline
              label="History"
              of={rows.map((event) => ({ key: event.id, at: event.created_at, title: titleOf(event, of) }))}
            />
          )
        }
      </Await>
    </Section>
  );
}

/** `billing_record.created` is "billing record created", and leads to the record, if it is another one. */
function titleOf({ type, data }: Event, of: string) {
  const title = words(type.replaceAll(".", " "));
  const noun = type.split(".").at(-2) ?? "";
  return noun === of || typeof data.id !== "number" ? (
    title
  ) : (
    <RecordLink kind={noun} id={data.id}>
      {title}
    </RecordLink>
  );
}
