import type { Actor } from "../../core/access.ts";
import { iso } from "../../core/time.ts";
import {
  approveLoanApplication,
  disburseLoanApplication,
  rejectLoanApplication,
  requestLoanAction,
  reviewLoanApplication,
} from "../../loans/applications/review.ts";
import {
  acceptLoanOffer,
  createLoanApplication,
  declineLoanOffer,
  submitLoanApplication,
  withdrawLoanApplication,
} from "../../loans/applications/service.ts";
import {
  createConsentDefinition,
  createConsentDefinitionVersion,
  publishConsentDefinition,
} from "../../loans/consent_definitions/service.ts";
import { grantConsent } from "../../loans/consents/service.ts";
import {
  listLoanDocuments,
  rejectLoanDocument,
  uploadLoanDocument,
  verifyLoanDocument,
} from "../../loans/documents/service.ts";
import { activateLoanProgram, createLoanProgram, pauseLoanProgram } from "../../loans/programs/service.ts";
import { type ApplicationFate, type Borrower, BORROWERS, CONSENTS, PROGRAMS } from "../cast/borrowers.ts";
import { makePdf } from "../pdf.ts";
import type { World } from "../world.ts";
import { lender } from "./founding.ts";
import type { Plot } from "./plot.ts";

/** Loan programs, and applications in every state. */
export function lend(plot: Plot): void {
  const { world, agenda, calendar } = plot;
  agenda.note(calendar.at(calendar.month(3, 2), "13:00"), () => offerLoans(world));
  agenda.note(calendar.at(calendar.month(3, 2), "15:00"), () => tryInStaging(world));
  agenda.note(calendar.at(calendar.ago(90), "09:00"), async () => {
    const officer = lender(world, "loan_officer");
    const id = world.id("consent", "pdpa");
    const { id: next } = await world.call(officer, createConsentDefinitionVersion, {
      id,
      data_text: "Your identity, your income, the documents that you hand in, and how you repay.",
    });
    await world.call(officer, publishConsentDefinition, { id: next });
    world.name("consent", "pdpa", next);
  });
  for (const [i, borrower] of BORROWERS.entries()) new Application(plot, borrower, i + 1).note();
}

async function offerLoans(world: World): Promise<void> {
  const officer = lender(world, "loan_officer");
  for (const definition of CONSENTS) {
    const { id } = await world.call(officer, createConsentDefinition, definition);
    await world.call(officer, publishConsentDefinition, { id });
    world.name("consent", definition.code, id);
  }
  for (const { terms, fate } of PROGRAMS) {
    const { id, code } = await world.call(officer, createLoanProgram, terms);
    world.name("program", code, id);
    if (fate === "draft") continue;
    await world.call(officer, activateLoanProgram, { id });
    if (fate === "paused") await world.call(officer, pauseLoanProgram, { id });
  }
}

/** Where the partner tried the interface out. */
async function tryInStaging(world: World): Promise<void> {
  const [program] = PROGRAMS;
  if (program === undefined) return;
  const { id: program_id } = await world.call("trial_lender", createLoanProgram, {
    ...program.terms,
    required_documents: [],
    required_consents: [],
  });
  await world.call("trial_lender", activateLoanProgram, { id: program_id });
  for (const name of ["Test Sdn Bhd", "Another test"]) {
    const application = { program_id, borrower: borrowerOf(world, name, "business"), amount: "20000" };
    const { id } = await world.call("trial", createLoanApplication, { ...application, tenor_months: 12 });
    await world.call("trial", submitLoanApplication, { id });
  }
}

const two = (n: number) => String(n).padStart(2, "0");

function borrowerOf({ roll }: World, name: string, type: "business" | "individual") {
  const email = `${name.toLowerCase().replaceAll(/[^a-z]+/g, ".")}@mail.example`;
  if (type === "business")
    return { type, name, email, registration_number: `2019${String(10_000_000 + roll(8_999_999))}` };
  const born = `${two(70 + roll(30))}${two(1 + roll(12))}${two(1 + roll(28))}`;
  return {
    type,
    name,
    email,
    ic_number: `${born}-${two(1 + roll(14))}-${1_000 + roll(8_999)}`,
    monthly_income: `${2_600 + 100 * roll(60)}`,
    employment_type: "salaried" as const,
  };
}

/** How an application came to where it is, after its submission. */
const LATER: Readonly<Partial<Record<ApplicationFate, readonly Turn[]>>> = {
  under_review: ["review"],
  action_required: ["review", "ask"],
  approved: ["review", "verify", "approve"],
  offer_expired: ["review", "verify", "approve"],
  accepted: ["review", "verify", "approve", "accept"],
  disbursed: ["review", "verify", "approve", "accept", "disburse"],
  rejected: ["review", "reject"],
  declined: ["review", "verify", "approve", "decline"],
  withdrawn: ["review", "withdraw"],
};
type Turn =
  | "review"
  | "ask"
  | "verify"
  | "approve"
  | "accept"
  | "decline"
  | "disburse"
  | "reject"
  | "withdraw";

/** One borrower's application, turn by turn. */
class Application {
  readonly #plot: Plot;
  readonly #borrower: Borrower;
  readonly #number: number;
  #id = 0;

  constructor(plot: Plot, borrower: Borrower, number: number) {
    this.#plot = plot;
    this.#borrower = borrower;
    this.#number = number;
  }

  note(): void {
    const { agenda, calendar } = this.#plot;
    const { days_ago, fate } = this.#borrower;
    const day = calendar.ago(days_ago);
    agenda.note(calendar.at(day, "14:20"), () => this.#apply());
    if (fate === "draft" || fate === "idle_draft") return;
    agenda.note(calendar.at(day, "16:40"), () => this.#submit());
    const turns = LATER[fate] ?? [];
    for (const [i, turn] of turns.entries())
      agenda.note(calendar.at(day.add({ days: 1 + i * 2 }), "11:10"), () => this.#take(turn));
  }

  get #agent(): Actor {
    return this.#plot.world.actor(this.#borrower.agent);
  }

  /** Two officers share the work. */
  get #officer(): Actor {
    return lender(this.#plot.world, this.#id % 2 === 0 ? "loan_officer" : "second_loan_officer");
  }

  async #apply(): Promise<void> {
    const { world } = this.#plot;
    const { name, program, amount, tenor_months } = this.#borrower;
    const type = program === "WORKING" ? "business" : "individual";
    const created = await world.call(this.#agent, createLoanApplication, {
      program_id: world.id("program", program),
      external_reference: `LEAD-${4_000 + this.#number}`,
      borrower: borrowerOf(world, name, type),
      amount,
      tenor_months,
      purpose: type === "business" ? "Stock for the season" : "A laptop",
    });
    this.#id = created.id;
  }

  async #submit(): Promise<void> {
    const { world } = this.#plot;
    const terms = PROGRAMS.find(({ terms: { code } }) => code === this.#borrower.program)?.terms;
    for (const type of terms?.required_documents ?? []) await this.#upload(type);
    for (const code of terms?.required_consents ?? []) {
      const evidence = { method: "otp", captured_at: iso(world.clock.now()), ip: "203.0.113.9" } as const;
      const definition_id = world.id("consent", code);
      await world.call(this.#agent, grantConsent, { id: this.#id, definition_id, evidence });
    }
    await world.call(this.#agent, submitLoanApplication, { id: this.#id });
  }

  async #upload(type: string): Promise<void> {
    const { world } = this.#plot;
    const { name, amount } = this.#borrower;
    const title = type.replaceAll("_", " ");
    const bytes = makePdf([
      title.toUpperCase(),
      name,
      `For an application of MYR ${amount}`,
      "Made up, as all here",
    ]);
    const body = new FormData();
    body.set("type", type);
    body.set("file", new File([bytes], `${title}.pdf`, { type: "application/pdf" }));
    const actor = this.#agent;
    await world.pass(actor, uploadLoanDocument, {
      id: this.#id,
      request: new Request("http://localhost/", { method: "POST", body }),
      renew: async () => ({ actor, now: world.clock.now() }),
    });
  }

  async #take(turn: Turn): Promise<unknown> {
    const { world } = this.#plot;
    const id = this.#id;
    const [officer, agent] = [this.#officer, this.#agent];
    const { amount, tenor_months, program, reason_code = "other" } = this.#borrower;
    const turns: Record<Turn, () => Promise<unknown>> = {
      review: () => world.call(officer, reviewLoanApplication, { id }),
      verify: () => this.#verify(),
      ask: () => this.#ask(),
      approve: () => {
        const annual_rate = program === "WORKING" ? "9.5" : "6.5";
        return world.call(officer, approveLoanApplication, { id, amount, tenor_months, annual_rate });
      },
      accept: () => world.call(agent, acceptLoanOffer, { id }),
      decline: () => world.call(agent, declineLoanOffer, { id }),
      withdraw: () => world.call(agent, withdrawLoanApplication, { id }),
      reject: () => world.call(officer, rejectLoanApplication, { id, reason_code }),
      disburse: () =>
        world.call(officer, disburseLoanApplication, { id, reference: `IBG-${70_000 + this.#number}` }),
    };
    return turns[turn]();
  }

  async #verify(): Promise<void> {
    const { world } = this.#plot;
    const { data } = await world.call(this.#officer, listLoanDocuments, { id: this.#id });
    for (const { id, status } of data)
      if (status === "pending_review") await world.call(this.#officer, verifyLoanDocument, { id });
  }

  async #ask(): Promise<void> {
    const { world } = this.#plot;
    const { data } = await world.call(this.#officer, listLoanDocuments, { id: this.#id });
    const last = data.at(-1);
    if (last === undefined) return;
    await world.call(this.#officer, rejectLoanDocument, { id: last.id, reason_code: "blurry" });
    const items = [{ kind: "document", code: last.type, note: "It can't be read" }] as const;
    await world.call(this.#officer, requestLoanAction, { id: this.#id, items: [...items] });
  }
}
