import { type TSchema, Type } from "@sinclair/typebox";
import type { Download } from "../core/download.ts";
import type { HtmlPage } from "../core/html.ts";
import { ErrorBody, InvalidBody } from "./errors.ts";

/** Wraps a record in `data`, as in every response. */
export async function data<T>(record: T | Promise<T>): Promise<{ data: T }> {
  return { data: await record };
}

/** The schema of a record in `data`. */
export function dataOf<T extends TSchema>(schema: T) {
  return Type.Object({ data: schema });
}

/** A file download. It is never cached, even behind a link that needs no token. */
export async function attachment(file: Promise<Download>): Promise<Response> {
  const { media_type, filename, body } = await file;
  const headers = {
    "content-type": media_type,
    "content-disposition": disposition(filename),
    "cache-control": "private, no-store",
    // If a browser shows it anyway, nothing in it runs.
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
  };
  return new Response(body, { headers });
}

/** The Content-Disposition header, for names in any script (RFC 6266). */
function disposition(filename: string): string {
  const plain = filename
    .normalize("NFKD")
    .replaceAll(/\p{M}/gu, "")
    .replaceAll(/[^ -~]|["\\%]/gu, "_");
  const header = `attachment; filename="${plain}"`;
  if (plain === filename) return header;
  const encoded = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `${header}; filename*=UTF-8''${encoded}`;
}

/** An HTML page. It is private, and never cached. */
export async function page(
  rendered: HtmlPage | Promise<HtmlPage>,
  { status = 200, headers = {} }: { status?: number; headers?: Record<string, string> } = {},
): Promise<Response> {
  const { html, policy } = await rendered;
  const all = {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": policy,
    "cache-control": "private, no-store",
    "referrer-policy": "no-referrer",
    ...headers,
  };
  return new Response(html, { status, headers: all });
}

/** The documentation of `page`. */
export const HTML_PAGE = {
  200: {
    description: "The page.",
    content: { "text/html": { schema: { type: "string" as const } } },
  },
};

/** A body schema that only documents: the endpoint checks the body itself. */
export const documentedOnly = (schema: TSchema) => ({ schema: Type.Unsafe<unknown>(schema) });

const COMMON = { 401: ErrorBody, 403: ErrorBody, 422: InvalidBody, 429: ErrorBody, 500: ErrorBody } as const;

/** The responses of a route: its own, and those that every route may have. */
export function answers<const S extends Record<number, TSchema>>(
  success: S,
): S & Omit<typeof COMMON, keyof S> {
  return { ...COMMON, ...success };
}

export { ErrorBody };
