import { type HtmlPage, html, told } from "../../core/html.ts";
import { housePage } from "../../core/house_page.ts";
import type { AuthorizationForm, SchemeOrder } from "../mandates/schemes/scheme.ts";

/**
 * The page from which a customer goes to the bank. It works without scripts: the customer presses the button. In the
 * sandbox there is no bank, and the page says so.
 */
export function authorizationPage({ mandate }: SchemeOrder, form: AuthorizationForm | null): HtmlPage {
  const facts = html`<dl>
<dt>Mandate</dt><dd>${told(mandate.reference)}</dd>
<dt>At most</dt><dd>MYR ${mandate.max_amount}</dd>
</dl>`;
  const title = "Authorize a direct debit";
  if (form === null) {
    const body = html`<h1>${title}</h1>
${facts}
<p>This is the sandbox: no bank is asked. The mandate goes on by the customer’s name or by a scenario.</p>`;
    return housePage({ title, body });
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
  return housePage({ title, body, has_form: true });
}
