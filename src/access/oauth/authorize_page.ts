import { type HtmlPage, html, isolate } from "../../core/html.ts";
import { renderPage } from "../../core/page_layout.ts";
import type { GrantedToolsets } from "../../core/toolsets.ts";
import { toolsetBoxes } from "./consent.ts";
import type { PendingAuthorization } from "./model.ts";
import { pathIn } from "./rules.ts";

/** What the sign-in page shows and carries. */
export interface SignInPageContent {
  readonly authorization: PendingAuthorization;
  readonly transaction: string;
  readonly csrf: string;
  /** The toolsets that it asks for, of those that this deployment has, and those that are ticked. */
  readonly asked: GrantedToolsets;
  readonly ticked: GrantedToolsets;
  /** What was wrong with the last attempt, and its email. */
  readonly problem?: string;
  readonly email?: string;
}

/**
 * The page on which a user signs in and allows or denies an OAuth client. It works without scripts, and escapes
 * everything from outside. Decision 0081.
 */
export function signInPage({
  authorization,
  transaction,
  csrf,
  asked,
  ticked,
  problem,
  email = "",
}: SignInPageContent): HtmlPage {
  const { client_name, redirect_uri } = authorization;
  const name = client_name ?? "An app without a name";
  const alert = problem === undefined ? [] : [html`<p role="alert" id="problem">${problem}</p>`];
  const invalid = problem === undefined ? [] : [html`aria-invalid="true" aria-describedby="problem"`];
  // Screen readers often skip alerts that a page begins with; they read the focused field with its description.
  const focus = problem === undefined ? "" : "autofocus";
  const body = html`<h1>Let ${isolate(name)} act for you?</h1>
<p>It will see and do in Meterhouse what you tick here, as far as your role allows, until you end it.</p>
<dl>
<dt>Calls itself</dt><dd>${isolate(name)}</dd>
<dt>Leads to</dt><dd>${isolate(pathIn(redirect_uri))}</dd>
</dl>
<p class="soft">Nobody has checked the name. Allow it only if you have just started this yourself.</p>
${alert}
<form method="post" action="/oauth/authorize">
<input type="hidden" name="transaction" value="${transaction}">
<input type="hidden" name="csrf" value="${csrf}">
${toolsetBoxes(asked, ticked)}
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}" ${invalid}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required ${invalid} ${focus}>
<div class="choice">
<button type="submit" name="decision" value="allow">Sign in and allow</button>
<button type="submit" name="decision" value="deny" formnovalidate>Deny</button>
</div>
</form>`;
  const title = `${problem === undefined ? "" : "Error: "}Let an app act for you?`;
  return renderPage({ title, body, has_form: true });
}
