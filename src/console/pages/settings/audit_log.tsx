import { useAnswer } from "../../api/cache.ts";
import { AreaTabs } from "../../ui/area_tabs.tsx";
import { DateFilter, FilterChip, Filters, SelectFilter, TextFilter } from "../../ui/filters.tsx";
import { words } from "../../ui/names.ts";
import { Page, Section } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { AuditEntries, ORIGIN_NAMES } from "./audit_entries.tsx";
import { listAuditEntries } from "./calls.ts";

const FILTERS = ["operation", "origin", "from", "to", "target_type", "target_id", "user_id", "key_id"];

/** Who did what, also what was refused. Links from other pages narrow it to a record, a user or a key. */
export function AuditLogPage() {
  const query = useQuery();
  const entries = useAnswer(listAuditEntries, query.input(FILTERS));
  const { target_type, target_id, user_id, key_id } = query.values;
  return (
    <Page title="Audit log" intro="Every change, sign-in and refusal, with who it was and what it changed.">
      <AreaTabs at="/settings/audit-log" />
      <Section title="Entries">
        <Filters query={query}>
          <TextFilter query={query} name="operation" label="Operation" placeholder="cancel_subscription" />
          <SelectFilter
            query={query}
            name="origin"
            label="Through"
            choices={Object.entries(ORIGIN_NAMES).map(([value, label]) => ({ value, label }))}
          />
          <DateFilter query={query} name="from" label="From" />
          <DateFilter query={query} name="to" label="Before" />
          {target_type !== undefined && (
            <FilterChip
              query={query}
              names={["target_type", "target_id"]}
              text={`On ${words(target_type)} ${target_id ?? ""}`}
            />
          )}
          {user_id !== undefined && (
            <FilterChip query={query} names={["user_id"]} text={`By user ${user_id}`} />
          )}
          {key_id !== undefined && (
            <FilterChip query={query} names={["key_id"]} text={`By API key ${key_id}`} />
          )}
        </Filters>
        <AuditEntries label="Audit log" loaded={entries} query={query} />
      </Section>
    </Page>
  );
}
