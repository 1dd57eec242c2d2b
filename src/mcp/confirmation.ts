import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  type InputRequiredResult,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { Context } from "../app/context.ts";
import { isSameSecret } from "../core/random_secrets.ts";
import { principalOf, privilegesOf, scopeOf } from "../core/access.ts";
import { LIMITS } from "./limits.ts";

// Before a tool takes money, ends or deletes something, a person says yes. Decision 0286.

/** What a person is asked: whether this should happen. */
export interface Question {
  tool: string;
  /** The tool's input in one order of fields, without the token. */
  input: string;
  what_will_happen: string;
}

/** How the client can ask the person itself, and what the person said. */
export interface Person {
  can_be_asked: boolean;
  /** The token of the question that was answered. */
  token?: string | undefined;
  answer?: "yes" | "no" | undefined;
}

const QUESTION = "confirm";
const PURPOSE = "meterhouse:confirm";

/** What the client says of its person: only since 2026 can it be asked in the middle of a call. */
export function personBehind({ mcpReq }: ServerContext): Person {
  const envelope: Readonly<Record<string, unknown>> = mcpReq.envelope ?? {};
  const capabilities = envelope[CLIENT_CAPABILITIES_META_KEY];
  const token = mcpReq.requestState();
  const view = inputResponse(mcpReq.inputResponses, QUESTION);
  const is_answered = view.kind === "elicit" && typeof token === "string";
  return {
    can_be_asked: typeof capabilities === "object" && capabilities !== null && "elicitation" in capabilities,
    ...(is_answered ? { token, answer: view.action === "accept" ? "yes" : "no" } : {}),
  };
}

/**
 * The token of a question, which whoever sends it back confirms. It is bound to the caller, the tool, its input and
 * what would happen, as it was then; and it ends soon.
 */
export function tokenFor(ctx: Context, question: Question, expires_s = expiryOf(ctx)): string {
  const { company_id } = scopeOf(ctx.actor);
  const caller = [company_id, principalOf(ctx.actor), ...privilegesOf(ctx.actor)];
  const { tool, input, what_will_happen } = question;
  const bound = JSON.stringify([expires_s, caller, tool, input, what_will_happen]);
  return `${expires_s.toString(36)}.${ctx.tokens.mac(PURPOSE, bound)}`;
}

/** Whether a token is that of this very question, and has not expired. */
export function isConfirmed(ctx: Context, question: Question, token: string | undefined): boolean {
  const [, expiry] = /^([0-9a-z]{1,9})\./.exec(token ?? "") ?? [];
  if (token === undefined || expiry === undefined) return false;
  const expires_s = Number.parseInt(expiry, 36);
  if (expires_s <= Math.floor(ctx.now.epochMilliseconds / 1_000)) return false;
  return isSameSecret(token, tokenFor(ctx, question, expires_s));
}

/** Asks the person: through the client where it can, else by a token that the model brings back. */
export function askPerson(
  ctx: Context,
  question: Question,
  { can_be_asked }: Person,
): CallToolResult | InputRequiredResult {
  const { what_will_happen } = question;
  const confirm = tokenFor(ctx, question);
  if (can_be_asked) {
    const requestedSchema = { type: "object" as const, properties: {} };
    const message = `${what_will_happen} Go ahead?`;
    const asked = { [QUESTION]: inputRequired.elicit({ message, requestedSchema }) };
    return inputRequired({ inputRequests: asked, requestState: confirm });
  }
  const structuredContent = {
    needs_confirmation: {
      what_will_happen,
      confirm,
      next: `Nothing has been done. Show the person what will happen; after a yes send the same again with confirm, within ${LIMITS.mcp_confirm_minutes} minutes.`,
    },
  };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
}

/** The result for a person who said no. */
export const DECLINED: CallToolResult = {
  content: [{ type: "text", text: "The person said no: nothing was done. Don't try it again unasked." }],
  isError: true,
};

function expiryOf({ now }: Context): number {
  return Math.floor(now.epochMilliseconds / 1_000) + LIMITS.mcp_confirm_minutes * 60;
}
