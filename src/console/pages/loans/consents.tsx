import type { LoanApplication } from "../../../loans/applications/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { words } from "../../ui/names.ts";
import { Badge, Section } from "../../ui/page.tsx";
import { Await } from "../../ui/states.tsx";
import { Table } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { listConsents } from "./calls.ts";
import { isolated } from "../../text/isolated.ts";

const TONES = { granted: "good", revoked: "bad", expired: "plain" } as const;

/** What the borrower has consented to, and how. */
export function Consents({ of }: { of: LoanApplication }) {
  const consents = useAnswer(listConsents, { environment: of.environment, id: of.id, page: 1, limit: 50 });
  return (
    <Section title="Consents">
      <Await of={consents} rows={1}>
        {(rows) =>
          rows.length === 0 ? (
            <p class="soft">None yet.</p>
          ) : (
            <Table
              label="Consents"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "To",
                  cell: ({ code, version, locale }) => (
                    <>
                      {code}
                      <div class="soft">
                        version {version}, {locale}
                      </div>
                    </>
                  ),
                },
                { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
                {
                  title: "By",
                  cell: ({ subject_name, evidence }) =>
                    `${isolated(subject_name)}, ${words(evidence.method)}`,
                },
                { title: "Given", is_minor: true, cell: ({ granted_at }) => <Time at={granted_at} /> },
                { title: "Until", is_minor: true, cell: ({ expires_at }) => <Time at={expires_at} /> },
              ]}
            />
          )
        }
      </Await>
    </Section>
  );
}
