import { chunks } from "../../core/chunk.ts";
import { aroundStarts, isSameStart, type Period } from "../../core/periods.ts";
import { instant } from "../../core/time.ts";
import type { ReadTx } from "../../store/store.ts";
import { LIMITS } from "../limits.ts";
import type { BillLine } from "../rating/bill_line.ts";
import { COMMITTED } from "../rating/commitment_years.ts";
import type { BillingRecordDetail } from "../records/model.ts";
import { listRecordedBetween, type NewRecord, type RecordedPart } from "../records/queries.ts";
import { listZones } from "../subscriptions/queries.ts";
import { type DuePeriod, recordedDue, yearlyCommitmentsOf } from "./billable.ts";
import { listBillable } from "./billable_queries.ts";

/** What the years of periods need of a record. */
type YearPart = Pick<RecordedPart, "id" | "billingStartAt" | "kind"> & {
  readonly lines: readonly BillLine[];
};

const isCounted = ({ kind, commitment_interval }: BillLine) =>
  COMMITTED.includes(kind) || commitment_interval !== undefined;

const isOf = (at: Temporal.Instant, periods: readonly Period[]) =>
  periods.some(({ from }) => isSameStart(from, at));

const hasYear = ({ year }: DuePeriod) => year.length > 0;
const idOf = ({ subscription }: DuePeriod) => subscription.id;

type AnyRecord = Omit<YearPart, "id"> & Pick<NewRecord, "subscription_id"> & { readonly id?: number };

/** What is on record of the years of periods with commitments to a year. */
export class CommitmentYears {
  readonly #parts = new Map<number, YearPart[]>();
  readonly #counted = new Map<number, readonly Period[]>();

  /** Years in which only these periods count, of which nothing is on record yet. */
  static ofPeriods(due: readonly DuePeriod[]): CommitmentYears {
    const years = new CommitmentYears();
    for (const [id, own] of Map.groupBy(due.filter(hasYear), idOf)) {
      years.#parts.set(id, []);
      years.#counted.set(
        id,
        own.map(({ period }) => period),
      );
    }
    return years;
  }

  /** Reads what is on record of the years of these periods. */
  async read(tx: ReadTx, due: readonly DuePeriod[]): Promise<this> {
    const of_years = due.filter(hasYear);
    for (const part of chunks([...Map.groupBy(of_years, idOf).values()], LIMITS.commitment_years_read)) {
      const ids = part.flatMap(([first]) => (first ? idOf(first) : []));
      for (const id of ids) this.#parts.set(id, []);
      const starts = aroundStarts(part.flat().flatMap(({ year }) => year));
      for (const record of await listRecordedBetween(tx, ids, starts)) this.add(record);
    }
    return this;
  }

  /** Adds a record, or one that is about to be written. Returns whether any year is its own. */
  add({ subscription_id, billingStartAt, kind, lines, id = Number.POSITIVE_INFINITY }: AnyRecord): boolean {
    const parts = this.#parts.get(subscription_id);
    parts?.push({ id, billingStartAt, kind, lines: lines.filter(isCounted) });
    return parts !== undefined;
  }

  /** A period with the lines that its bills have of its year. */
  withLines<P extends DuePeriod & { readonly lines: readonly BillLine[] }>(rated: P): P {
    const of_year = this.linesOf(rated);
    return of_year.length === 0 ? rated : { ...rated, lines: [...rated.lines, ...of_year] };
  }

  /** The lines that a period's bills have of its year. */
  linesOf(rated: DuePeriod & { readonly lines: readonly BillLine[] }): BillLine[] {
    const { year, part, lines } = rated;
    if (year.length === 0 || part === "advance") return [];
    const counted = this.#monthsOf(rated);
    const on_record = { counted, recorded: this.elsewhere(rated), is_over: this.#isOver(rated) };
    return yearlyCommitmentsOf(rated, lines, on_record);
  }

  /** The lines that count of the other periods of a period's year; `before_id`: as they were before that record. */
  elsewhere(due: DuePeriod, before_id?: number): BillLine[] {
    const others = this.#others(due).filter(({ id }) => before_id === undefined || id < before_id);
    return others.flatMap(({ lines }) => lines);
  }

  /** Whether the last period of a period's year is closed, or is the one that is billed. */
  #isOver(due: DuePeriod): boolean {
    const { subscription, period, part } = due;
    const ends_at = subscription.ends_at === null ? null : instant(subscription.ends_at);
    const last = this.#monthsOf(due).findLast(
      ({ from }) => ends_at === null || Temporal.Instant.compare(from, ends_at) < 0,
    );
    if (!last) return false;
    const isLast = (from: Temporal.Instant) => isSameStart(from, last.from);
    if (part === "whole" && isLast(period.from)) return true;
    return this.#others(due).some(
      ({ kind, billingStartAt }) => kind === "period" && isLast(instant(billingStartAt)),
    );
  }

  /** The periods of a period's year that count. */
  #monthsOf({ subscription, year }: DuePeriod): readonly Period[] {
    const counted = this.#counted.get(subscription.id);
    return counted ? year.filter(({ from }) => isOf(from, counted)) : year;
  }

  #others({ subscription, period, year }: DuePeriod): YearPart[] {
    return (this.#parts.get(subscription.id) ?? []).filter(({ billingStartAt }) => {
      const at = instant(billingStartAt);
      return isOf(at, year) && !isOf(at, [period]);
    });
  }
}

/** The lines that a record's lines of a year were worked out with: those on record before it, of its year's other periods. */
export async function findElsewhere(
  tx: ReadTx,
  record: Pick<BillingRecordDetail, "id" | "subscription_id" | "lines" | "billingStartAt" | "billingEndAt">,
): Promise<BillLine[]> {
  if (record.lines.every((line) => line.commitment_interval === undefined)) return [];
  const [subscription] = await listBillable(tx, { ids: [record.subscription_id], limit: 1 });
  if (!subscription) return [];
  const due = recordedDue(subscription, record, await listZones(tx));
  const years = await new CommitmentYears().read(tx, [due]);
  return years.elsewhere(due, record.id);
}
