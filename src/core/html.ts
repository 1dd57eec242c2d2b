/** A whole page for a browser: no script, nothing from elsewhere, only its own style. */
export interface HtmlPage {
  html: string;
  /** Its Content-Security-Policy, which allows that style and nothing else. */
  policy: string;
}

/** Markup that must not be escaped again. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template: texts are escaped, HTML and lists of it are not. */
type Part = string | number | Html | readonly Html[];

/** A piece of HTML: everything that stands in it is escaped, in texts and in quoted attributes alike. */
export function html(literals: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const written = literals.map((literal, i) => literal + (i < parts.length ? textOf(parts[i] ?? "") : ""));
  return new Html(written.join(""));
}

/** Untrusted text wrapped in <bdi>, so that its writing direction cannot reorder its surroundings. */
export function isolate(text: string): Html {
  return html`<bdi>${text}</bdi>`;
}

function textOf(part: Part): string {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(({ text }) => text).join("\n");
  return Bun.escapeHTML(String(part));
}

interface PageParts {
  title: string;
  /** CSS that we wrote. */
  style: string;
  body: Html;
  /** Whether it holds a form. Where that may lead is not restricted: Chromium would restrict redirects after it, too. */
  has_form?: boolean;
}

/** Makes a page in English. */
export function htmlPage({ title, style, body, has_form = false }: PageParts): HtmlPage {
  const hash = new Bun.CryptoHasher("sha256").update(style).digest("base64");
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${body}
</body>
</html>
`;
  const refused = ["default-src", "base-uri", "frame-ancestors", ...(has_form ? [] : ["form-action"])];
  const none = refused.map((name) => `${name} 'none'`);
  return { html: page.text, policy: [...none, `style-src 'sha256-${hash}'`].join("; ") };
}
