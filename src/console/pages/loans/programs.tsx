import { useState } from "preact/hooks";
import type { LoanProgram } from "../../../loans/programs/model.ts";
import { useAsked } from "../../api/asked.ts";
import { useAnswer, write } from "../../api/cache.ts";
import type { PageProps } from "../../app/pages.ts";
import { company, may } from "../../app/session.ts";
import { money } from "../../text/money.ts";
import { count, number, percent } from "../../text/number.ts";
import { edited, readAnew } from "../../ui/edited.ts";
import { TextInput } from "../../ui/explorer/choose.tsx";
import { useCreation } from "../../ui/creation.tsx";
import { Confirm, Sheet } from "../../ui/dialog.tsx";
import {
  CheckListField,
  DecimalField,
  NumberField,
  SelectField,
  TagsField,
  TextAreaField,
  TextField,
} from "../../ui/fields.tsx";
import { SearchFilter } from "../../ui/filters.tsx";
import { FormDialog } from "../../ui/form.tsx";
import { List } from "../../ui/list.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Page } from "../../ui/page.tsx";
import { useQuery } from "../../ui/query.ts";
import { Empty, FailureNotice } from "../../ui/states.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import {
  activateProgram,
  createProgram,
  deleteProgram,
  getProgram,
  listInstalments,
  listPrograms,
  pauseProgram,
  updateProgram,
} from "./calls.ts";
import { Environment, titleIn } from "./environment.tsx";
import { attempt } from "../../ui/toast.tsx";

const TONES = { draft: "plain", active: "good", paused: "warn", archived: "plain" } as const;

const columns: Column<LoanProgram>[] = [
  {
    title: "Program",
    cell: ({ name, code }) => (
      <>
        {name}
        <div class="soft">{code}</div>
      </>
    ),
  },
  { title: "State", cell: ({ status }) => <Badge tone={TONES[status]}>{status}</Badge> },
  { title: "For", is_minor: true, cell: ({ borrower_type }) => <Badge>{borrower_type}</Badge> },
  {
    title: "Amount",
    is_figure: true,
    cell: ({ min_amount, max_amount, currency }) =>
      `${money(min_amount, currency)} – ${money(max_amount, currency)}`,
  },
  {
    title: "Over",
    is_minor: true,
    cell: ({ min_tenor_months, max_tenor_months }) =>
      `${number(min_tenor_months)} to ${count(max_tenor_months, "month")}`,
  },
  {
    title: "Rate",
    cell: ({ annual_rate_min, annual_rate_max, rate_type }) =>
      `${number(annual_rate_min)} – ${percent(annual_rate_max)}, ${rate_type}`,
  },
];

type Open = { kind: "edit" | "delete" | "instalments"; of: LoanProgram };

/** Loans that are offered. */
export function ProgramsPage({ params }: PageProps) {
  const environment = params.environment ?? "production";
  const query = useQuery();
  const creation = useCreation(query, "New program", "lending:write");
  const programs = useAnswer(listPrograms, { environment, ...query.input(["search", "status"]) });
  const [open, setOpen] = useState<Open>();
  const close = () => setOpen(undefined);
  const can_write = may("lending:write");
  const acts = (of: LoanProgram) => (
    <Menu label={`Acts for ${of.name}`}>
      <MenuItem onSelect={() => setOpen({ kind: "instalments", of })}>Instalments</MenuItem>
      {can_write &&
        (of.status === "active" ? (
          <MenuItem onSelect={() => attempt(write(pauseProgram, { environment, id: of.id }))}>Pause</MenuItem>
        ) : (
          <MenuItem onSelect={() => attempt(write(activateProgram, { environment, id: of.id }))}>
            Activate
          </MenuItem>
        ))}
      {can_write && <MenuItem onSelect={() => setOpen({ kind: "edit", of })}>Edit</MenuItem>}
      {can_write && <MenuItem onSelect={() => setOpen({ kind: "delete", of })}>Delete</MenuItem>}
    </Menu>
  );
  return (
    <Page
      title={titleIn(environment, "Loan programs")}
      intro="Loans that borrowers may apply for."
      actions={creation.button}
    >
      <Environment of={environment} at="programs">
        <List
          title="All programs"
          label="Loan programs"
          loaded={programs}
          columns={columns}
          query={query}
          filters={<SearchFilter query={query} name="search" label="Name or code" />}
          empty={<Empty title="No programs yet">A program says how much, how long, and at what rate.</Empty>}
          acts={acts}
        />
      </Environment>
      {creation.is_open && <ProgramDialog environment={environment} onClose={creation.close} />}
      {open?.kind === "edit" && <ProgramDialog environment={environment} of={open.of} onClose={close} />}
      {open?.kind === "instalments" && <Instalments of={open.of} onClose={close} />}
      {open?.kind === "delete" && (
        <Confirm
          title="Delete this program?"
          act="Delete program"
          name={open.of.code}
          onClose={close}
          run={(key) => write(deleteProgram, { environment, id: open.of.id }, { key })}
        >
          <p>Applications for it go on.</p>
        </Confirm>
      )}
    </Page>
  );
}

/** What a loan under a program costs a month, by its term. */
function Instalments({ of, onClose }: { of: LoanProgram; onClose: () => void }) {
  const { id, environment, currency, annual_rate_min, annual_rate_max } = of;
  const [amount, setAmount] = useState(of.max_amount);
  const { data, failure, retry } = useAsked(listInstalments, { environment, id, amount });
  return (
    <Sheet title={`Instalments of ${of.name}`} onClose={onClose}>
      <TextInput label={`Amount (${currency})`} value={amount} onType={(text) => setAmount(text.trim())} />
      {failure && <FailureNotice failure={failure} onRetry={retry} />}
      {data && (
        <Table
          label="Instalments"
          rows={data}
          keyOf={({ tenor_months }) => tenor_months}
          columns={[
            { title: "Over", cell: ({ tenor_months }) => count(tenor_months, "month") },
            {
              title: `A month at ${percent(annual_rate_min)}`,
              is_figure: true,
              cell: ({ at_min_rate }) => money(at_min_rate, currency),
            },
            {
              title: `At ${percent(annual_rate_max)}`,
              is_figure: true,
              cell: ({ at_max_rate }) => money(at_max_rate, currency),
            },
          ]}
        />
      )}
    </Sheet>
  );
}

const DOCUMENTS = [
  "ic_front",
  "ic_back",
  "passport",
  "payslip",
  "bank_statement",
  "epf_statement",
  "ea_form",
  "tax_return",
  "employment_letter",
  "ssm_registration",
  "financial_statement",
  "utility_bill",
  "other",
].map((value) => ({ value, label: words(value) }));

function ProgramDialog({
  environment,
  of,
  onClose,
}: {
  environment: string;
  of?: LoanProgram;
  onClose: () => void;
}) {
  return (
    <FormDialog
      title={of === undefined ? "New program" : `Edit ${of.name}`}
      onClose={onClose}
      schema={of === undefined ? "CreateLoanProgram" : "LoanProgramChange"}
      act="Save"
      {...(of === undefined
        ? { initial: { borrower_type: "individual", rate_type: "flat", currency: company.value.currency } }
        : {
            edited: edited(of, {
              fields: changeable,
              read: () => readAnew(getProgram, { environment, id: of.id }),
            }),
          })}
      submit={(values, key, if_match) =>
        of === undefined
          ? write(createProgram, { ...values, environment }, { key })
          : write(updateProgram, { ...values, environment, id: of.id }, { key, if_match })
      }
    >
      {(form) => (
        <>
          <div class="field-row">
            <TextField form={form} name="name" label="Name" help={null} />
            <TextField form={form} name="code" label="Code" help={null} />
          </div>
          <div class="field-row">
            <SelectField
              form={form}
              name="borrower_type"
              label="For"
              help={null}
              choices={[
                { value: "individual", label: "individuals" },
                { value: "business", label: "businesses" },
              ]}
            />
            <TextField form={form} name="currency" label="Currency" help={null} />
          </div>
          <div class="field-row">
            <DecimalField form={form} name="min_amount" label="Amount, from" help={null} />
            <DecimalField form={form} name="max_amount" label="Amount, to" help={null} />
          </div>
          <div class="field-row">
            <NumberField form={form} name="min_tenor_months" label="Months, from" help={null} />
            <NumberField form={form} name="max_tenor_months" label="Months, to" help={null} />
          </div>
          <div class="field-row">
            <DecimalField form={form} name="annual_rate_min" label="Rate a year, from (%)" help={null} />
            <DecimalField form={form} name="annual_rate_max" label="Rate a year, to (%)" help={null} />
            <SelectField
              form={form}
              name="rate_type"
              label="Rate"
              help={null}
              choices={[
                { value: "flat", label: "flat" },
                { value: "reducing", label: "reducing" },
              ]}
            />
          </div>
          <CheckListField
            form={form}
            name="required_documents"
            label="Documents that are needed"
            choices={DOCUMENTS}
            help={null}
          />
          <TagsField
            form={form}
            name="required_consents"
            label="Consents that are needed"
            help="Codes of consent texts. Enter adds one."
          />
          <TextAreaField form={form} name="description" label="Description" rows={2} help={null} />
        </>
      )}
    </FormDialog>
  );
}

function changeable(of: LoanProgram) {
  const {
    id: _,
    company_id: _company,
    environment: _at,
    status: _status,
    created_at: _created,
    updated_at: _updated,
    ...fields
  } = of;
  return fields;
}
