import type { MandateOrder } from "../../../src/features/mandate_orders/queries.ts";
import { sandbox } from "../../../src/features/mandates/schemes/sandbox.ts";
import { resultOf } from "../../../src/features/mandates/schemes/response_codes.ts";
import type {
  SchemeConnector,
  SchemeOrder,
  SchemeResult,
} from "../../../src/features/mandates/schemes/scheme.ts";

/** What becomes of a debit at the bank, as nobody here can know before it is told. */
const FATES = ["paid", "paid", "paid", "no funds", "no funds", "closed", "late", "charged back"] as const;

/** A scheme that remembers what it was sent, and whose answers may be late, lost or repeated. */
export class RecordingScheme {
  readonly sent: { order: SchemeOrder; day: Temporal.PlainDate }[] = [];
  readonly #seed: number;
  /** Which orders were told to have failed for good or for now. */
  readonly failed = new Set<string>();
  today: Temporal.PlainDate;
  /** What happens to the calls under way. */
  fault: "none" | "dies before" | "dies after" | "times out" = "none";
  /** Looks at each order on its arrival, before it is remembered. */
  onSent: (order: SchemeOrder) => void = () => undefined;
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
    const hash = Number(Bun.hash(`${this.#seed} ${order_no}`) % BigInt(FATES.length));
    return FATES[hash] ?? "paid";
  }

  /** What it says of an order when it is asked; one that it never got has failed. */
  resultFor({ order_no, status }: Pick<MandateOrder, "order_no" | "status">): SchemeResult {
    const fate = this.has(order_no) ? this.fateOf(order_no) : "no funds";
    if (fate === "no funds") return this.#fail(order_no, resultOf("51"));
    if (fate === "closed") return this.#fail(order_no, resultOf("53"));
    if (status !== "succeeded" || fate === "paid") return resultOf("00", `TXN-${order_no}`);
    if (fate === "late") return this.#fail(order_no, resultOf("53"));
    return { ...resultOf("00"), status: "charged_back" };
  }

  #fail(order_no: string, result: SchemeResult): SchemeResult {
    this.failed.add(order_no);
    return result;
  }

  get connector(): SchemeConnector {
    return {
      ...sandbox,
      collect: async (orders) => {
        if (this.fault === "dies before") throw new Error("Died before the scheme was called");
        for (const order of orders) {
          try {
            this.onSent(order);
          } catch (violation) {
            this.violations.push(violation);
          }
          this.sent.push({ order, day: this.today });
        }
        if (this.fault === "dies after") throw new Error("Died before the answer came");
        await Bun.sleep(0);
        if (this.fault === "times out") return new Map();
        // Some it answers at once.
        const answered = orders.filter(
          ({ order_no }) => Bun.hash(`${this.#seed} ${order_no} now`) % 3n === 0n,
        );
        return new Map(
          answered.map(({ order_no }) => [order_no, this.resultFor({ order_no, status: "submitted" })]),
        );
      },
    };
  }
}
