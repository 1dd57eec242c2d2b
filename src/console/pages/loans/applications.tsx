import type { ApplicationStatus, LoanApplication } from "../../../loans/applications/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { money } from "../../text/money.ts";
import { count } from "../../text/number.ts";
import { ago } from "../../text/time.ts";
import { DateFilter, SearchFilter, SelectFilter } from "../../ui/filters.tsx";
import { List } from "../../ui/list.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty } from "../../ui/states.tsx";
import type { Column } from "../../ui/table.tsx";
import { Time } from "../../ui/timeline.tsx";
import { listApplications } from "./calls.ts";
import { Environment, titleIn } from "./environment.tsx";

export const TONES: Record<ApplicationStatus, "good" | "bad" | "warn" | "plain" | "busy"> = {
  draft: "plain",
  submitted: "busy",
  under_review: "busy",
  action_required: "warn",
  approved: "good",
  accepted: "good",
  disbursed: "good",
  rejected: "bad",
  declined: "plain",
  withdrawn: "plain",
  expired: "plain",
};
const STATES = Object.keys(TONES).map((value) => ({ value, label: words(value) }));

/** Applications, by state and age. */
export function ApplicationsPage({ params }: PageProps) {
  const environment = params.environment ?? "production";
  const query = useQuery();
  const applications = useAnswer(listApplications, {
    environment,
    ...query.input(["search", "status", "from", "to", "program_id"]),
  });
  const columns: Column<LoanApplication>[] = [
    {
      title: "Application",
      cell: ({ id, reference, borrower }) => (
        <>
          <a href={`${BASE}/loans/${environment}/applications/${id}`}>{borrower.name}</a>
          <div class="soft">{reference}</div>
        </>
      ),
    },
    { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{words(status)}</Badge> },
    {
      title: "Amount",
      is_figure: true,
      cell: ({ amount, program_snapshot, tenor_months }) => (
        <>
          {money(amount, program_snapshot.currency)}
          <div class="soft">{count(tenor_months, "month")}</div>
        </>
      ),
    },
    { title: "Program", is_minor: true, cell: ({ program_snapshot }) => program_snapshot.name },
    {
      title: "Lacks",
      cell: ({ missing }) => (missing.length === 0 ? "–" : missing.map(({ code }) => words(code)).join(", ")),
    },
    {
      title: "Age",
      is_minor: true,
      cell: ({ submitted_at, created_at }) => <Time at={submitted_at ?? created_at} show={(at) => ago(at)} />,
    },
  ];
  return (
    <Page title={titleIn(environment, "Applications")} intro="Borrowers' applications, by state and age.">
      <Environment of={environment} at="applications">
        <List
          title="All applications"
          label="Applications"
          loaded={applications}
          columns={columns}
          query={query}
          filters={
            <>
              <SearchFilter query={query} name="search" label="Name or reference" />
              <SelectFilter query={query} name="status" label="State" choices={STATES} />
              <DateFilter query={query} name="from" label="From" />
              <DateFilter query={query} name="to" label="Before" />
            </>
          }
          empty={<Empty title="No applications yet">Loan agents send them by the interface.</Empty>}
        />
      </Environment>
    </Page>
  );
}
