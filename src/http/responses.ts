import { type TSchema, Type } from "@sinclair/typebox";
import type { Download } from "../core/download.ts";
import type { HtmlPage } from "../core/html.ts";
import { ErrorBody, InvalidBody } from "./errors.ts";

/** Wraps a record in the `data` that every answer has. */
export async function data<T>(record: T | Promise<T>): Promise<{ data: T }> {
  return { data: await record };
}

/** A record in `data`, as a schema. */
export function dataOf<T extends TSchema>(schema: T) {
  return Type.Object({ data: schema });
}

/**
 * The answer that sends a file, to be saved and not shown; nobody on the way keeps it, also where its address is
 * all that it takes.
 */
export async function attachment(file: Promise<Download>): Promise<Response> {
  const { media_type, filename, body } = await file;
  const headers = {
    "content-type": media_type,
    "content-disposition": disposition(filename),
    "cache-control": "private, no-store",
    // Should something show it all the same, nothing in it runs.
    "content-security-policy": "default-src 'none'; sandbox",
    "x-content-type-options": "nosniff",
  };
  return new Response(body, { headers });
}

/** Names a file for every receiver, whatever letters it is written in (RFC 6266). */
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

/** The answer that shows a page; nobody keeps it, it belongs to whoever asked. */
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

/** `page`, as the documentation has it. */
export const HTML_PAGE = {
  200: {
    description: "The page.",
    content: { "text/html": { schema: { type: "string" as const } } },
  },
};

/** A body as the documentation has it: what reads it checks it. */
export const documentedOnly = (schema: TSchema) => ({ schema: Type.Unsafe<unknown>(schema) });

const COMMON = { 401: ErrorBody, 403: ErrorBody, 422: InvalidBody, 429: ErrorBody, 500: ErrorBody } as const;

/** What a route answers: its own statuses, beside those that any route may answer. */
export function answers<const S extends Record<number, TSchema>>(
  success: S,
): S & Omit<typeof COMMON, keyof S> {
  return { ...COMMON, ...success };
}

export { ErrorBody };
