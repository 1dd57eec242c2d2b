import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isolated } from "../text/isolated.ts";
import { Breakable } from "./breakable.tsx";

/** A page: its heading, which takes the focus when one comes from elsewhere, its acts, and its content. */
export function Page(props: {
  title: string;
  /** Where it belongs: links above the heading. */
  above?: ComponentChildren;
  /** Beside the heading: a state, a number. */
  beside?: ComponentChildren;
  actions?: ComponentChildren;
  intro?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { title, above, beside, actions, intro, children } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${isolated(title)} – Meterhouse`;
  }, [title]);
  useEffect(() => {
    // Not at the first page of a visit: there the browser's own order is expected.
    if (visits++ > 0) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <div class="page-head">
        <div class="page-title">
          {above && <div class="above">{above}</div>}
          <h1 tabIndex={-1} ref={heading}>
            {isolated(title)}
            {beside && <> {beside}</>}
          </h1>
          {intro && <p class="soft">{intro}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

let visits = 0;

/** A part of a page with a heading of its own. */
export function Section(props: {
  title: string;
  actions?: ComponentChildren;
  intro?: ComponentChildren;
  children: ComponentChildren;
}) {
  const { title, actions, intro, children } = props;
  return (
    <section class="card" aria-label={title}>
      <div class="section-head">
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {intro && <p class="soft">{intro}</p>}
      {children}
    </section>
  );
}

/** Names and values of a record. */
export function Facts({
  of,
}: {
  of: readonly (readonly [name: string, value: ComponentChildren] | undefined)[];
}) {
  return (
    <dl class="facts">
      {of.map(
        (fact) =>
          fact && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>
                {typeof fact[1] === "string" ? textFact(fact[1]) : (fact[1] ?? <span class="soft">–</span>)}
              </dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** An address of the web or of mail is one long word, which breaks between its parts. */
const textFact = (text: string) => (/\S[/@]\S/.test(text) ? <Breakable of={text} /> : text);

type Tone = "good" | "bad" | "warn" | "plain" | "busy";

/** A state in a word; its colour only repeats it. */
export function Badge({ tone = "plain", children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A key figure: what it is, how much, and what that is beside something else. */
export function Figure(props: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  title?: string;
  href?: string;
}) {
  const { label, value, note, title, href } = props;
  return (
    <div class="figure">
      <div class="label">{label}</div>
      <div class="value" title={title}>
        {href === undefined ? value : <a href={href}>{value}</a>}
      </div>
      {note && <div class="note">{note}</div>}
    </div>
  );
}

/** Tabs as links: each is a page of its own. */
export function Tabs({
  label,
  of,
}: {
  label: string;
  of: readonly { title: string; href: string; is_open: boolean }[];
}) {
  return (
    <nav class="tabs" aria-label={label}>
      {of.map(({ title, href, is_open }) => (
        <a key={href} href={href} {...(is_open && { "aria-current": "page" as const })}>
          {title}
        </a>
      ))}
    </nav>
  );
}

/** JSON as it is. */
export function Json({ of }: { of: unknown }) {
  return (
    <pre class="json" tabIndex={0}>
      <code>{JSON.stringify(of, null, 2)}</code>
    </pre>
  );
}
