import { type Html, type HtmlPage, html, htmlPage, told } from "../../core/html.ts";
import type { WaitingAgent } from "./model.ts";
import { placeIn } from "./rules.ts";

const STYLE = `
:root { color-scheme: light dark; --ink: #1a1a1a; --soft: #555; --line: #767676; --paper: #fff; --bad: #a40000;
  color: var(--ink); background: var(--paper); font: 16px/1.5 system-ui, "Liberation Sans", Arial, sans-serif; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f2f2f2; --soft: #b8b8b8; --line: #8c8c8c; --paper: #161616; --bad: #ff9d94; }
}
body { max-width: 28rem; margin: 3rem auto; padding: 0 1.5rem; }
header { border-bottom: 2px solid var(--ink); padding-bottom: 0.5rem; font-size: 1.15rem; font-weight: 600; }
h1 { margin: 1.5rem 0 0.75rem; font-size: 1.6rem; line-height: 1.25; font-weight: 600; overflow-wrap: anywhere; }
p { margin: 0 0 1rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.25rem 1.5rem; margin: 0 0 1rem; }
dt, .soft { color: var(--soft); }
dd { margin: 0; font-weight: 600; overflow-wrap: anywhere; }
[role=alert] { border: 2px solid var(--bad); color: var(--bad); padding: 0.5rem 0.75rem; font-weight: 600; }
label { display: block; margin-bottom: 0.25rem; font-weight: 600; }
input { display: block; box-sizing: border-box; width: 100%; margin-bottom: 1rem; padding: 0.6rem; font: inherit;
  color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 4px; }
input[aria-invalid=true] { border: 2px solid var(--bad); }
.choice { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: 0.5rem; }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: 0.5rem 1rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--ink); background: transparent; border: 2px solid var(--ink); border-radius: 4px; }
button[value=allow] { color: var(--paper); background: var(--ink); }
:focus-visible { outline: 3px solid #1a73e8; outline-offset: 2px; }
@media (forced-colors: active) { button { border-color: ButtonText; } }
`;

/** What a sign-in page shows and carries. */
export interface SignInFacts {
  readonly waiting: WaitingAgent;
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
export function signInPage({ waiting, transaction, csrf, problem, email = "" }: SignInFacts): HtmlPage {
  const { agent_name, redirect_uri } = waiting;
  const name = agent_name ?? "A program without a name";
  const told_wrong = problem === undefined ? [] : [html`<p role="alert" id="problem">${problem}</p>`];
  const wrong = problem === undefined ? [] : [html`aria-invalid="true" aria-describedby="problem"`];
  // Alerts that stand in a page from its beginning are often not read out; what has the focus is, with its description.
  const focus = problem === undefined ? "" : "autofocus";
  const body = frame(html`<h1>Let ${told(name)} act for you?</h1>
<p>It will see and do in Meterhouse what your role allows you, until you end it.</p>
<dl>
<dt>Calls itself</dt><dd>${told(name)}</dd>
<dt>Leads to</dt><dd>${told(placeIn(redirect_uri))}</dd>
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
</form>`);
  const title = `${problem === undefined ? "" : "Error: "}Let an agent act for you? – Meterhouse`;
  return htmlPage({ title, style: STYLE, body, has_form: true });
}

/** The page that tells why there is nothing to decide. */
export function refusalPage(problem: string): HtmlPage {
  const body = frame(html`<h1>This can’t go on</h1>
<p role="alert">${problem}.</p>`);
  return htmlPage({ title: "Error – Meterhouse", style: STYLE, body });
}

function frame(content: Html): Html {
  return html`<header>Meterhouse</header>
<main>
${content}
</main>`;
}
