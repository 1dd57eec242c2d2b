import { type Html, html } from "../../core/html.ts";
import { AppError } from "../../core/errors.ts";
import { type GrantedToolsets, type Reach, TOOLSETS, type Toolset } from "../../core/toolsets.ts";
import { SCOPE, toolsetsOf } from "../authorizations/scopes.ts";

// The boxes of the consent page: one for each toolset, with how far it is granted. Decision 0285.

const TITLES: Record<Toolset, string> = {
  billing: "Billing: clients, prices, subscriptions, bills, forms",
  usage: "Usage: events, meters, limits, exports",
  debits: "Debits: mandates and payments",
  loans: "Loans: programs, applications, documents, consents",
  webhooks: "Webhooks: deliveries",
};

const CHOICES = [
  ["none", "No"],
  ["read", "Read"],
  ["write", "Read and write"],
] as const;

/** What is ticked for an app that asks for everything: to move money or to lend, a user ticks more. */
const USUAL: GrantedToolsets = { billing: "write", usage: "read" };

/** What is ticked at first: what the app asks for, or the usual where it asks for everything. */
export function suggestedToolsets(scope: string): GrantedToolsets {
  return scope === SCOPE ? USUAL : toolsetsOf(scope);
}

/**
 * What a form's boxes grant of what was asked for. A box that was not sent grants what was asked for, so that
 * programs that know no boxes go on working: browsers send one choice of each. Errors: malformed.
 */
export function chosenToolsets(asked: GrantedToolsets, form: Record<string, string>): GrantedToolsets {
  const chosen: Partial<Record<Toolset, Reach>> = {};
  for (const toolset of TOOLSETS) {
    const asked_for = asked[toolset];
    const choice = form[toolset] ?? asked_for;
    if (asked_for === undefined || choice === undefined || choice === "none") continue;
    if (choice !== "read" && choice !== "write")
      throw new AppError("malformed", `The choice for ${toolset} must be none, read or write`);
    chosen[toolset] = asked_for === "read" ? "read" : choice;
  }
  return chosen;
}

/** The boxes of the toolsets that are asked for, with what is ticked. */
export function toolsetBoxes(asked: GrantedToolsets, ticked: GrantedToolsets): Html[] {
  return TOOLSETS.filter((toolset) => asked[toolset] !== undefined).map((toolset) => {
    const choices = CHOICES.filter(([choice]) => choice !== "write" || asked[toolset] === "write");
    const buttons = choices.map(([choice, label]) => {
      const mark = choice === (ticked[toolset] ?? "none") ? "checked" : "";
      return html`<label><input type="radio" name="${toolset}" value="${choice}" ${mark}> ${label}</label>`;
    });
    return html`<fieldset><legend>${TITLES[toolset]}</legend>
${buttons}
</fieldset>`;
  });
}
