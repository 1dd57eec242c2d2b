import type { TotalsOptions, UsageStore, UsageWindow, WindowTotal } from "../../usage_store/port.ts";
import type { PriceTerms } from "../billing_models/price_terms.ts";
import { ChargeMeasures, type LineOf } from "../meters/measure_charges.ts";
import type { Meter } from "../meters/model.ts";
import type { Unmetered } from "../meters/unmetered.ts";
import type { AddOnStretch, UsedAddOn } from "../rating/add_on_lines.ts";
import type { BillLine } from "../rating/bill_line.ts";
import type { UsedSegment } from "../rating/charges.ts";
import type { Segment } from "../rating/segments.ts";
import type { RecordedPart } from "./queries.ts";
import type { ModelOf } from "./terms_of_lines.ts";
import { storedBy, type UsageAssertion, windowOf } from "./verify_usage.ts";

type StoredBy = Omit<TotalsOptions, "timeout_ms">;

/** The questions about the events that were stored by the same moment. */
interface Question {
  readonly stored_by: StoredBy;
  readonly windows: UsageWindow[];
  /** Of a window, its position. */
  readonly positions: Map<string, number>;
  readonly measures: ChargeMeasures;
}

/** Counts the events of many lines and segments: those that end at the same event by one query. */
export class UsageCount {
  readonly #meters: ReadonlyMap<number, Meter>;
  readonly #without_digests: boolean;
  readonly #questions = new Map<string, Question>();
  readonly #answers = new Map<string, WindowTotal[]>();

  /** `without_digests`: what meters measure is rated and not proved. */
  constructor(meters: ReadonlyMap<number, Meter>, { without_digests = false } = {}) {
    this.#meters = meters;
    this.#without_digests = without_digests;
  }

  /** Adds a line; the result reads its total once it was asked for. */
  ofLine(line: BillLine, model: PriceTerms, whose: LineOf, stored_by: StoredBy): () => WindowTotal {
    if (typeof line.meter_id === "number")
      return this.#question(stored_by).measures.addLine(line, model, whose);
    return this.ofWindow(windowOf(line, whose.subscription.id), stored_by);
  }

  /** Adds the segments of a period; the result reads their usage once it was asked for. */
  ofSegments(segments: readonly Segment[], whose: LineOf, stored_by: StoredBy): () => UsedSegment[] {
    const { measures } = this.#question(stored_by);
    measures.add({ ...whose, segments });
    const counted = segments.map(({ from, to }) => {
      const [start_ms, end_ms] = [from.epochMilliseconds, to.epochMilliseconds];
      return this.ofWindow({ subscription_id: whose.subscription.id, start_ms, end_ms }, stored_by);
    });
    return () =>
      segments.map((segment, i) => {
        const total = counted[i]?.();
        if (!total) throw new Error("Cannot count a segment: it was not asked for");
        const { digest: usage_digest, ...usage } = total;
        return measures.used(segment, { ...usage, usage_digest });
      });
  }

  /** Adds stretches with add-ons; the result reads what their meters measured once it was asked for. */
  ofAddOns(add_ons: readonly AddOnStretch[], whose: LineOf, stored_by: StoredBy): () => UsedAddOn[] {
    const { measures } = this.#question(stored_by);
    measures.add({ ...whose, segments: [], add_ons });
    return () => add_ons.map((stretch) => measures.usedAddOn(stretch));
  }

  /** Adds what nothing counts of a period; the result reads it once it was asked for. */
  ofUnmetered(
    stretches: { readonly segments: readonly Segment[]; readonly add_ons: readonly AddOnStretch[] },
    whose: LineOf,
    stored_by: StoredBy,
  ): () => Unmetered | undefined {
    return this.#question(stored_by).measures.addUnmetered({ ...whose, ...stretches });
  }

  /** Adds all events of a window; the result reads their total once it was asked for. */
  ofWindow(window: UsageWindow, stored_by: StoredBy): () => WindowTotal {
    const { windows, positions } = this.#question(stored_by);
    const key = `${window.subscription_id} ${window.start_ms} ${window.end_ms}`;
    const position = positions.get(key) ?? windows.push(window) - 1;
    positions.set(key, position);
    return () => {
      const total = this.#answers.get(keyOf(stored_by))?.[position];
      if (!total) throw new Error("Cannot count usage: it was not asked for");
      return total;
    };
  }

  /** Asks for all. Errors: those of the usage store. */
  async ask(
    usage: Pick<UsageStore, "totals" | "measure">,
    company_id: number,
    timeout_ms: number,
  ): Promise<void> {
    for (const [key, { stored_by, windows, measures }] of this.#questions) {
      this.#answers.set(key, await usage.totals(company_id, windows, { ...stored_by, timeout_ms }));
      const asked = { company_id, ...stored_by, without_digests: this.#without_digests };
      await measures.ask(usage, asked, timeout_ms);
    }
  }

  #question(stored_by: StoredBy): Question {
    const key = keyOf(stored_by);
    const question = this.#questions.get(key) ?? {
      stored_by,
      windows: [],
      positions: new Map(),
      measures: new ChargeMeasures(this.#meters),
    };
    this.#questions.set(key, question);
    return question;
  }
}

const keyOf = ({ created_until_ms, last_seq }: StoredBy) => `${created_until_ms} ${last_seq}`;

/** Adds the events of assertions; the result reads a total once it was asked for, as `verify` takes it. */
export function countAssertions(
  count: UsageCount,
  assertions: readonly UsageAssertion[],
  modelOf: ModelOf,
  whose: LineOf,
): (assertion: UsageAssertion, record: RecordedPart) => WindowTotal {
  const readers = new Map(
    assertions.map((assertion) => {
      const { line, until, since } = assertion;
      const bounds = [until, since].filter((part) => part !== null);
      const ofPart = (part: RecordedPart) =>
        count.ofLine(line, modelOf(line.billing_model_id, line.add_on_id), whose, storedBy(part));
      return [assertion, new Map(bounds.map((part) => [part, ofPart(part)]))];
    }),
  );
  return (assertion, record) => {
    const read = readers.get(assertion)?.get(record);
    if (!read) throw new Error("Cannot verify a line: its usage was not counted");
    return read();
  };
}
