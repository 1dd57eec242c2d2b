import { useState } from "preact/hooks";
import type { UsageField } from "../../../usage/filters/model.ts";
import { useAnswer } from "../../api/cache.ts";
import { Button } from "../button.tsx";
import type { ExplorerCalls } from "./calls.ts";
import { Choose, choicesOf, Typed } from "./choose.tsx";
import { FilterChips } from "./filters.tsx";
import { DEFAULT_TOP, type Explored } from "./question.ts";
import { fieldName, MEASURE_NAMES } from "./words.ts";

const TOPS = [5, DEFAULT_TOP, 20, 50];

/** The fields of events: records, and the metadata keys of the newest events. */
export function useFields(calls: ExplorerCalls, is_company: boolean): readonly UsageField[] {
  const keys = useAnswer(calls.keys);
  const records: UsageField[] = [
    ...(is_company ? (["client"] as const) : []),
    "product",
    "subscription",
    "billing_model",
  ];
  return [...records, ...(keys.answer?.data ?? []).map(({ key }) => `metadata:${key}` as const)];
}

/** The question of an explorer: what is measured, by what it is grouped, and which events count. */
export function QuestionPanel(props: {
  of: Explored;
  fields: readonly UsageField[];
  calls: ExplorerCalls;
  set: (changes: Partial<Explored>) => void;
}) {
  const { of, fields, calls, set } = props;
  const [is_open, setOpen] = useState(false);
  const [first, second] = of.by;
  const known = [...new Set([...fields, ...of.by])];
  const choices = [
    { value: "", label: "Nothing" },
    ...known.map((value) => ({ value, label: fieldName(value) })),
  ];
  const group = (at: 0 | 1, chosen: string) => {
    const field = known.find((one) => one === chosen);
    const others = at === 0 ? [field, second] : [first, field];
    set({
      by: others.filter((one, i): one is UsageField => one !== undefined && others.indexOf(one) === i),
    });
  };
  return (
    <section class={`question card${is_open ? " open" : ""}`} aria-label="Question">
      <div class="question-toggle">
        <Button kind="quiet" icon="down" aria-expanded={is_open} onClick={() => setOpen(!is_open)}>
          Measure, groups and filters
        </Button>
      </div>
      <div class="question-fields">
        <Choose
          label="Measure"
          value={of.measure}
          choices={choicesOf(MEASURE_NAMES)}
          onChoose={(measure) => set({ measure })}
        />
        <Choose
          label="Group by"
          value={first ?? ""}
          choices={choices}
          onChoose={(chosen) => group(0, chosen)}
        />
        {first !== undefined && (
          <>
            <Choose
              label="And by"
              value={second ?? ""}
              choices={choices.filter(({ value }) => value !== first)}
              onChoose={(chosen) => group(1, chosen)}
            />
            <Choose
              label="Groups"
              value={String(of.top)}
              choices={[...new Set([...TOPS, of.top])].map((top) => ({
                value: String(top),
                label: `Top ${top}`,
              }))}
              onChoose={(top) => set({ top: Number(top) })}
            />
          </>
        )}
        <FilterChips {...{ of, fields, calls }} onChange={(filters) => set({ filters })} />
        <div class="field-row">
          <Typed label="Usage from" value={of.min} is_decimal onType={(min) => set({ min })} />
          <Typed label="Usage to" value={of.max} is_decimal onType={(max) => set({ max })} />
        </div>
      </div>
    </section>
  );
}
