import { type HtmlPage, html, isolate } from "../../core/html.ts";
import { renderPage } from "../../core/page_layout.ts";
import type { AuthorizationForm, SchemeOrder } from "../scheme/connector.ts";

/**
 * The page from which a customer goes to the bank, by a button and without scripts. In the sandbox there is no bank,
 * and the page says so.
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
<p>This is the sandbox, without a bank. The customer’s name or a scenario decides how the mandate goes on.</p>`;
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
 * The page for a customer who comes back from the bank where the company has set no return address. It is the same
 * for every request, and names no order.
 */
export function returnPage(): HtmlPage {
  const body = html`<h1>Thank you</h1>
<p>You are back from your bank. The company learns your bank’s decision by itself. There is nothing more to do
here: you can close this page.</p>`;
  return renderPage({ title: "Back from your bank", body });
}
