import { sandbox } from "../../src/emandate/scheme/sandbox.ts";
import { resultOf } from "../../src/emandate/scheme/response_codes.ts";
import type { SchemeOrder, SchemeResult } from "../../src/emandate/scheme/connector.ts";
import { type Dice, pick } from "../support/dice.ts";
import type { Turns } from "./turns.ts";

const RESULTS = {
  paid: resultOf("00"),
  "no funds": resultOf("51"),
  closed: resultOf("53"),
  "charged back": { ...resultOf("00"), status: "charged_back" },
} as const satisfies Record<string, SchemeResult>;
type Fate = keyof typeof RESULTS;

/** What it may say first. */
const FIRST: readonly Fate[] = ["paid", "paid", "paid", "no funds", "no funds", "no funds", "closed"];
/** What it may say after that: banks correct themselves. */
const LATER: readonly Fate[] = ["paid", "paid", "no funds", "closed", "charged back"];

/** A debit as the bank has it. */
export interface SentDebit {
  order_no: string;
  amount: string;
  reference: string;
  /** What it last said; undefined while it says nothing. */
  says: Fate | undefined;
  ever_failed: boolean;
  /** What of it was heard last: messages may overtake each other. */
  heard: Fate | undefined;
  /** Whether it said that and nobody confirmed it: the process died meanwhile, or an older message came after. Banks say it again. */
  is_unconfirmed: boolean;
}

/** A bank behind the sandbox: it remembers what it was sent, and answers early, late, twice, and otherwise than before. */
export class Bank {
  readonly sent = new Map<string, SentDebit>();
  /** What must never be. */
  readonly violations: string[] = [];
  readonly #roll: Dice;

  constructor(roll: Dice) {
    this.#roll = roll;
  }

  /** Takes the sandbox's place until it is given back. */
  replaceSandbox(turns: Turns): () => void {
    const own = { ...sandbox };
    Object.assign(sandbox, {
      collect: (orders: readonly SchemeOrder[]) => turns.pass(async () => this.#collect(orders)),
      queryStatus: (orders: readonly SchemeOrder[]) => turns.pass(async () => this.#query(orders)),
    });
    return () => void Object.assign(sandbox, own);
  }

  /** What it says of an order, in its words. */
  resultOf({ order_no, says }: SentDebit): SchemeResult {
    if (says === undefined) return resultOf("09");
    return { ...RESULTS[says], scheme_txn_id: says === "paid" ? `TXN-${order_no}` : null };
  }

  /** Whether another attempt of the same payment was sent after this one. */
  isFollowed(order_no: string): boolean {
    const [, payment = "", attempt = "0"] = /^D(\d+)-(\d+)$/.exec(order_no) ?? [];
    return this.sent.has(`D${payment}-${Number(attempt) + 1}`);
  }

  /** Has it say something of a debit, for the first time or otherwise than before. */
  decide(debit: SentDebit): void {
    debit.says = pick(this.#roll, debit.says === undefined ? FIRST : LATER);
    if (debit.says !== "paid") debit.ever_failed = true;
  }

  #collect(orders: readonly SchemeOrder[]): Map<string, SchemeResult> {
    const answers = new Map<string, SchemeResult>();
    for (const { order_no, amount, mandate } of orders) {
      if (this.sent.has(order_no)) this.violations.push(`${order_no} was sent twice`);
      if (Number(amount) > Number(mandate.max_amount))
        this.violations.push(`${order_no} is over its mandate`);
      const [, payment = "", attempt = "1"] = /^D(\d+)-(\d+)$/.exec(order_no) ?? [];
      for (let before = 1; before < Number(attempt); before++) {
        const earlier = this.sent.get(`D${payment}-${before}`);
        // One that was never sent is nothing that the bank knows of.
        if (earlier && !earlier.ever_failed)
          this.violations.push(`${order_no} was sent, and attempt ${before} had not failed`);
      }
      const said = { says: undefined, heard: undefined, ever_failed: false, is_unconfirmed: false };
      const debit = { order_no, amount, reference: mandate.reference, ...said };
      this.sent.set(order_no, debit);
      if (this.#roll(4) > 0) continue;
      this.decide(debit);
      answers.set(order_no, this.resultOf(debit));
    }
    return answers;
  }

  #query(orders: readonly SchemeOrder[]): Map<string, SchemeResult> {
    return new Map(
      orders.map(({ order_no, kind }): [string, SchemeResult] => {
        if (kind !== "debit") return [order_no, resultOf("00")];
        const debit = this.sent.get(order_no);
        // It never got it.
        if (!debit) return [order_no, resultOf("51")];
        if (debit.says === undefined && this.#roll(5) === 0) this.decide(debit);
        return [order_no, this.resultOf(debit)];
      }),
    );
  }
}
