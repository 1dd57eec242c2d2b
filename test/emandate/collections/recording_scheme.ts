import type { MandateOrder } from "../../../src/emandate/orders/queries.ts";
import { sandbox } from "../../../src/emandate/scheme/sandbox.ts";
import { resultOf } from "../../../src/emandate/scheme/response_codes.ts";
import type { SchemeConnector, SchemeOrder, SchemeResult } from "../../../src/emandate/scheme/connector.ts";

/** What becomes of a debit at the bank, as nobody here can know before it is told. */
const FATES = ["paid", "paid", "paid", "no funds", "no funds", "closed", "late", "charged back"] as const;

/** What a bank says that corrects itself. */
export const CORRECTIONS = ["paid", "closed", "charged back"] as const;
type Correction = (typeof CORRECTIONS)[number];

/** A debit, as far as it is remembered. */
export interface SentDebit extends Pick<SchemeOrder, "order_no" | "amount"> {
  readonly mandate: Pick<SchemeOrder["mandate"], "reference">;
}

/** A scheme that remembers what it was sent, and whose answers may be late, lost or repeated. */
export class RecordingScheme {
  readonly sent: { order: SentDebit; day: Temporal.PlainDate }[] = [];
  readonly #seed: number;
  /** Which orders were told to have failed for good or for now, as it said last. */
  readonly failed = new Set<string>();
  /** Which orders were told to have moved money that stayed, as it said last. */
  readonly paid = new Set<string>();
  readonly #places = new Map<string, number>();
  /** What it says of orders about which it was wrong. */
  readonly #corrected = new Map<string, Correction>();
  today: Temporal.PlainDate;
  /** What happens to the calls under way. */
  fault: "none" | "dies before" | "dies after" | "times out" = "none";
  /** Looks at each order on its arrival, before it is remembered. */
  onSent: (order: SentDebit) => void = () => undefined;
  /** What it found wrong: whoever calls a scheme does not let its errors through. */
  readonly violations: unknown[] = [];

  constructor(seed: number, today: Temporal.PlainDate) {
    this.#seed = seed;
    this.today = today;
  }

  has(order_no: string): boolean {
    return this.sent.some(({ order }) => order.order_no === order_no);
  }

  fateOf(order_no: string): (typeof FATES)[number] {
    return FATES[this.#draw(order_no, FATES.length)] ?? "paid";
  }

  /** Draws for an order, by when it was first drawn for: its number depends on the histories before this one. */
  #draw(order_no: string, of: number): number {
    const place = this.#places.get(order_no) ?? this.#places.size;
    this.#places.set(order_no, place);
    return Number(Bun.hash(`${this.#seed} ${place} ${of}`) % BigInt(of));
  }

  /** What it says of an order when it is asked; one that it never got has failed. */
  resultFor(order: Pick<MandateOrder, "order_no" | "status">): SchemeResult {
    const result = this.#resultFor(order);
    const { order_no } = order;
    if (result.status === "failed") this.failed.add(order_no);
    else this.failed.delete(order_no);
    if (result.status === "ok") this.paid.add(order_no);
    else this.paid.delete(order_no);
    return result;
  }

  #resultFor({ order_no, status }: Pick<MandateOrder, "order_no" | "status">): SchemeResult {
    const said = this.#corrected.get(order_no) ?? this.fateOf(order_no);
    const fate = this.has(order_no) ? said : "no funds";
    if (fate === "no funds") return resultOf("51");
    if (fate === "closed") return resultOf("53");
    if (this.#corrected.has(order_no)) {
      return fate === "paid"
        ? resultOf("00", `TXN-${order_no}`)
        : { ...resultOf("00"), status: "charged_back" };
    }
    if (status !== "succeeded" || fate === "paid") return resultOf("00", `TXN-${order_no}`);
    if (fate === "late") return resultOf("53");
    return { ...resultOf("00"), status: "charged_back" };
  }

  /** From now on it says something else of an order. */
  correct(order_no: string, says: Correction): void {
    this.#corrected.set(order_no, says);
  }

  /** Debits arrive, by a call or in a file. */
  take(orders: readonly SentDebit[]): void {
    for (const order of orders) {
      try {
        this.onSent(order);
      } catch (violation) {
        this.violations.push(violation);
      }
      this.sent.push({ order, day: this.today });
    }
  }

  get connector(): SchemeConnector {
    return {
      ...sandbox,
      collect: async (orders) => {
        if (this.fault === "dies before") throw new Error("Died before the scheme was called");
        this.take(orders);
        if (this.fault === "dies after") throw new Error("Died before the answer came");
        await Bun.sleep(0);
        if (this.fault === "times out") return new Map();
        // Some it answers at once.
        const answered = orders.filter(({ order_no }) => this.#draw(order_no, 3) === 0);
        return new Map(
          answered.map(({ order_no }) => [order_no, this.resultFor({ order_no, status: "submitted" })]),
        );
      },
    };
  }
}
