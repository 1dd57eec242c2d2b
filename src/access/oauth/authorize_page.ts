import { type HtmlPage, html, isolate } from "../../core/html.ts";
import { renderPage } from "../../core/page_layout.ts";
import type { PendingAuthorization } from "./model.ts";
import { pathIn } from "./rules.ts";

/** What a sign-in page shows and carries. */
export interface SignInPageContent {
  readonly authorization: PendingAuthorization;
  readonly transaction: string;
  readonly csrf: string;
  /** What was wrong with the last try, and the email that it was made with. */
  readonly problem?: string;
  readonly email?: string;
}

/**
 * The page on which a user signs in and lets an agent act for them, or not. It works without scripts; everything
 * from outside is escaped. Decision 0081.
 */
export function signInPage({
  authorization,
  transaction,
  csrf,
  problem,
  email = "",
}: SignInPageContent): HtmlPage {
  const { agent_name, redirect_uri } = authorization;
  const name = agent_name ?? "A program without a name";
  const told_wrong = problem === undefined ? [] : [html`<p role="alert" id="problem">${problem}</p>`];
  const wrong = problem === undefined ? [] : [html`aria-invalid="true" aria-describedby="problem"`];
  // Alerts that stand in a page from its beginning are often not read out; what has the focus is, with its description.
  const focus = problem === undefined ? "" : "autofocus";
  const body = html`<h1>Let ${isolate(name)} act for you?</h1>
<p>It will see and do in Meterhouse what your role allows you, until you end it.</p>
<dl>
<dt>Calls itself</dt><dd>${isolate(name)}</dd>
<dt>Leads to</dt><dd>${isolate(pathIn(redirect_uri))}</dd>
</dl>
<p class="soft">Nobody has checked the name. Allow it only if you have just started this yourself.</p>
${told_wrong}
<form method="post" action="/oauth/authorize">
<input type="hidden" name="transaction" value="${transaction}">
<input type="hidden" name="csrf" value="${csrf}">
<label for="email">Email</label>
<input id="email" name="email" type="email" autocomplete="username" required value="${email}" ${wrong}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required ${wrong} ${focus}>
<div class="choice">
<button type="submit" name="decision" value="allow">Sign in and allow</button>
<button type="submit" name="decision" value="deny" formnovalidate>Deny</button>
</div>
</form>`;
  const title = `${problem === undefined ? "" : "Error: "}Let an agent act for you?`;
  return renderPage({ title, body, has_form: true });
}
