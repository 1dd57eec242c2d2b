import { type Html, type HtmlPage, html, htmlPage } from "./html.ts";

// How our own pages look.

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
fieldset { margin: 0 0 0.75rem; padding: 0.25rem 0.75rem 0.5rem; border: 1px solid var(--line); border-radius: 4px; }
legend { padding: 0 0.25rem; font-weight: 600; }
fieldset label { display: inline-block; margin: 0 1rem 0 0; font-weight: 400; }
input[type=radio] { display: inline; width: auto; margin: 0 0.25rem 0 0; }
input[aria-invalid=true] { border: 2px solid var(--bad); }
.choice { display: flex; flex-wrap: wrap; gap: 0.75rem; margin-top: 0.5rem; }
button { flex: 1 1 8rem; min-height: 2.75rem; padding: 0.5rem 1rem; font: inherit; font-weight: 600; cursor: pointer;
  color: var(--ink); background: transparent; border: 2px solid var(--ink); border-radius: 4px; }
button[value=allow] { color: var(--paper); background: var(--ink); }
:focus-visible { outline: 3px solid #1a73e8; outline-offset: 2px; }
@media (forced-colors: active) { button { border-color: ButtonText; } }
`;

/** A page of ours, with its title and what stands below the head. */
export function renderPage({
  title,
  body,
  has_form = false,
}: {
  title: string;
  body: Html;
  has_form?: boolean;
}): HtmlPage {
  const framed = html`<header>Meterhouse</header>
<main>
${body}
</main>`;
  return htmlPage({ title: `${title} – Meterhouse`, style: STYLE, body: framed, has_form });
}

/** The page of an error: why the request cannot go on. */
export function errorPage(problem: string): HtmlPage {
  const body = html`<h1>This can’t go on</h1>
<p role="alert">${problem}.</p>`;
  return renderPage({ title: "Error", body });
}
