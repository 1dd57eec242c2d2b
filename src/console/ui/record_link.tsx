import type { ComponentChildren } from "preact";
import { BASE, findPage } from "../app/find_page.ts";
import { me } from "../app/session.ts";

/** The pages of records that others name; client users have their own of some. */
const PATHS: Record<string, { path: string; my?: string }> = {
  client: { path: "/clients" },
  product: { path: "/products" },
  subscription: { path: "/subscriptions", my: "/my/subscriptions" },
  billing_model: { path: "/billing-models" },
  meter: { path: "/meters" },
  billing_record: { path: "/bills", my: "/my/bills" },
  mandate: { path: "/debits/mandates" },
  payment: { path: "/debits/payments" },
};

/** The address of a record's page, where who is signed in has it. */
function hrefOf(kind: string, id: number | null): string | undefined {
  const { path, my } = PATHS[kind] ?? {};
  const base = me.value?.role === "client" ? my : path;
  const href = `${BASE}${base}/${id}`;
  return base === undefined || id === null || findPage(href) === undefined ? undefined : href;
}

/** Whether who is signed in has the page of a record. */
export const mayFollow = (kind: string, id: number): boolean => hrefOf(kind, id) !== undefined;

/** The name of a record that leads to it, where who is signed in has its page. */
export function RecordLink(props: { kind: string; id: number | null; children: ComponentChildren }) {
  const { kind, id, children } = props;
  const href = hrefOf(kind, id);
  return href === undefined ? <>{children}</> : <a href={href}>{children}</a>;
}
