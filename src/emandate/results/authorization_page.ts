import { type HtmlPage, html, isolate } from "../../core/html.ts";
import { renderPage } from "../../core/page_layout.ts";
import type { AuthorizationForm, SchemeOrder } from "../scheme/connector.ts";

/**
 * The page from which a customer goes to the bank. It works without scripts: the customer presses the button. In the
 * sandbox there is no bank, and the page says so.
 */
export function authorizationPage({ mandate }: SchemeOrder, form: AuthorizationForm | null): HtmlPage {
  const facts = html`<dl>
<dt>Mandate</dt><dd>${isolate(mandate.reference)}</dd>
<dt>At most</dt><dd>MYR ${mandate.max_amount}</dd>
</dl>`;
  const title = "Authorize a direct debit";
  if (form === null) {
    const body = html`<h1>${title}</h1>
${facts}
<p>This is the sandbox: no bank is asked. The mandate goes on by the customer’s name or by a scenario.</p>`;
    return renderPage({ title, body });
  }
  const fields = Object.entries(form.fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  const body = html`<h1>${title}</h1>
${facts}
<p>Your bank asks you to sign in and to agree.</p>
<form method="post" action="${form.action}">
${fields}
<div class="choice"><button type="submit" value="allow">Go on to your bank</button></div>
</form>`;
  return renderPage({ title, body, has_form: true });
}

/**
 * The page for a customer who comes back from the bank to a company that has set no address of its own. It is the
 * same whatever the browser says, and tells of no order.
 */
export function returnPage(): HtmlPage {
  const body = html`<h1>Thank you</h1>
<p>You are back from your bank. What it decided is told to the company that asked you, and nothing more is to be
done here: you can close this page.</p>`;
  return renderPage({ title: "Back from your bank", body });
}
