import type { Meter } from "../../../billing/meters/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { BASE } from "../../app/find_page.ts";
import type { PageProps } from "../../app/pages.ts";
import { may } from "../../app/session.ts";
import { TextAreaField, TextField } from "../../ui/fields.tsx";
import { History } from "../../ui/history.tsx";
import { words } from "../../ui/names.ts";
import { Badge, Facts, Page, Section } from "../../ui/page.tsx";
import { RecordActs } from "../../ui/record_acts.tsx";
import { Await } from "../../ui/states.tsx";
import { METERS } from "../../ui/sources.ts";
import { deleteMeter, updateMeter } from "./calls.ts";
import { termsText } from "./terms_text.ts";
import { Trial } from "./trial.tsx";

/** One meter, tried on stored events. */
export function MeterPage({ params }: PageProps) {
  const meter = useAnswer(METERS.one, { id: params.id });
  const record = meter.answer?.data;
  return (
    <Page
      title={record?.name ?? `Meter #${params.id ?? ""}`}
      above={<a href={`${BASE}/meters`}>Meters</a>}
      beside={record && <Badge>{words(record.aggregation)}</Badge>}
      actions={record && may("meters:write") && <MeterActs of={record} />}
    >
      <Await of={meter}>
        {(of) => (
          <>
            <Section title="What it counts" intro={of.description === "" ? undefined : of.description}>
              <Facts
                of={[
                  ["Code", <code>{of.code}</code>],
                  ["Reads", termsText(of)],
                  ["Prices and limits may differ by", of.group_keys.join(", ") || "nothing"],
                  of.percentile === null ? undefined : ["Percentile", of.percentile],
                  of.carry_over ? ["Without a value", "the last one before"] : undefined,
                ]}
              />
            </Section>
            <Trial
              meter={() => ({
                aggregation: of.aggregation,
                ...(of.aggregation !== "count" && { value: of.value }),
                filters: of.filters.map(({ key, op, values }) =>
                  op === "exists" || op === "missing" ? { key, op } : { key, op, values },
                ),
                group_keys: of.group_keys,
                ...(of.percentile !== null && { percentile: of.percentile }),
                ...(of.carry_over && { carry_over: true }),
              })}
            />
            <History of="meter" id={of.id} />
          </>
        )}
      </Await>
    </Page>
  );
}

function MeterActs({ of }: { of: Meter }) {
  return (
    <RecordActs
      of={of}
      noun="meter"
      edit={{
        schema: "UpdateMeter",
        to: updateMeter,
        from: METERS.one,
        values: ({ name, description }) => ({ name, description }),
        note: "What a meter counts by is fixed once a billing model in use or a feature names it.",
        fields: (form) => (
          <>
            <TextField form={form} name="name" label="Name" />
            <TextAreaField form={form} name="description" label="Description" rows={2} />
          </>
        ),
      }}
      remove={{
        to: deleteMeter,
        list: `${BASE}/meters`,
        effects: "One that a billing model or a feature names cannot be deleted.",
      }}
    />
  );
}
