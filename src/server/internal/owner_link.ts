import type { Background } from "../../core/background.ts";
import { AppError } from "../../core/errors.ts";
import type { Log } from "../../core/log.ts";
import type { PassToOwner } from "../../app/internal_calls.ts";
import type { OwnedLanes } from "../../usage_store/clickhouse/lanes.ts";
import {
  askWhileOwner,
  NoAnswerError,
  OwnerFailedError,
  type ReachableOwner,
} from "../../usage_store/clickhouse/owner_calls.ts";
import { LIMITS } from "../limits.ts";
import type { PassedNote, PassedOperation } from "./calls.ts";
import { askInstance } from "./pass_on.ts";
import type { InternalSignatures } from "./signature.ts";

/** How an instance reaches those that store companies' usage. */
interface OwnerLinkParts {
  signatures: InternalSignatures;
  lanes: OwnedLanes;
  background: Background;
  log: Log;
}

/** The way to the instances that store companies' usage, for all that is not usage itself. Decision 0375. */
export class OwnerLink {
  readonly #parts: OwnerLinkParts;
  /** Companies whose owners are to be told, and whether of all subscriptions. */
  readonly #notes = new Map<number, boolean>();
  #is_noting = false;

  constructor(parts: OwnerLinkParts) {
    this.#parts = parts;
  }

  readonly pass: PassToOwner = async (caller, { name: operation, at_owner }, input) => {
    const { actor, origin, request_id, address } = caller;
    if (!("company_id" in actor)) return null;
    const { company_id } = actor;
    const passed: PassedOperation = { operation, actor, origin, request_id, address, input };
    let cause: unknown;
    for (const until_ms = performance.now() + LIMITS.owner_wait_ms; ; ) {
      const owner = this.#ownerOf(company_id);
      if (owner === null && (at_owner !== "only" || this.#parts.lanes.owns(company_id))) return null;
      try {
        if (owner !== null) return { output: await this.#ask(owner, company_id, "call", passed) };
      } catch (error) {
        // One that failed would fail again, and is no repeat of itself.
        if (!(error instanceof NoAnswerError) || error instanceof OwnerFailedError) throw error;
        cause = error;
      }
      if (performance.now() >= until_ms)
        throw new AppError("unavailable", "Cannot ask the instance that stores the company's usage", {
          retry_after_s: 5,
          cause,
        });
      await Bun.sleep(LIMITS.owner_look_ms);
    }
  };

  /** Tells the owner of a company's lane that its records may say otherwise what is limited. Never fails. */
  readonly note = (company_id: number, all: boolean): void => {
    if (this.#ownerOf(company_id) === null) return;
    this.#notes.set(company_id, all || this.#notes.get(company_id) === true);
    if (!this.#is_noting) void this.#parts.background.track(this.#sendNotes());
  };

  async #sendNotes(): Promise<void> {
    this.#is_noting = true;
    for (const [company_id, all] of this.#notes) {
      this.#notes.delete(company_id);
      const owner = this.#ownerOf(company_id);
      const note: PassedNote = { company_id, all };
      try {
        if (owner !== null) await this.#ask(owner, company_id, "note", note);
      } catch (error) {
        // It reads all of them anew every few minutes.
        this.#parts.log.debug({ err: error, company_id }, "limits: an instance was not told of a change");
      }
    }
    this.#is_noting = false;
  }

  #ownerOf(company_id: number): ReachableOwner | null {
    const owner = this.#parts.lanes.otherOwnerOf(company_id);
    return owner?.url == null ? null : { ...owner, url: owner.url };
  }

  #ask(owner: ReachableOwner, company_id: number, name: string, input: unknown): Promise<unknown> {
    return askWhileOwner(
      (gone) => askInstance(this.#parts.signatures, owner, name, input, gone),
      () => this.#ownerOf(company_id)?.id === owner.id,
    );
  }
}
