import { expect } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Json } from "./harness.ts";

// Guides of docs/ that are run as they stand: each request is sent, and what the page shows is looked for in the
// answer.

/** A command of a guide, and the JSON that it shows, an object a line. */
export interface Command {
  readonly text: string;
  /** The shorthand that it begins with: whose token it sends. */
  readonly caller: string;
  readonly method: string;
  readonly path: string;
  /** As it is sent, but for '$NOW', the time of the request. */
  readonly body: string | undefined;
  /** The body's media type, where the command names one. */
  readonly type: string | undefined;
  /** `NAME=$(… | jq -r .a.b)`: the name under which a part of the answer is kept, for '$NAME' in later bodies. */
  readonly kept: { readonly name: string; readonly path: readonly string[] } | undefined;
  /** Sent as a form, in place of a body. */
  readonly form: FormData | undefined;
  readonly shown: readonly Json[];
}

/** `sleep 5`: the clock goes on by so much. */
export interface Wait {
  readonly wait_s: number;
}

/**
 * What a page of docs/ has one do, from top to bottom: blocks of commands, each followed by a block of what the last
 * one prints. Blocks that begin otherwise set something up, which tests do themselves.
 */
export function stepsOf(page: string): (Command | Wait)[] {
  const text = readFileSync(join(import.meta.dir, "../..", page), "utf8");
  const blocks = [...text.matchAll(/```sh\n(.*?)```(?:\n\n```text\n(.*?)```)?/gs)];
  return blocks.flatMap(([, commands = "", printed = ""]) => {
    if (!/^((\w+=\$\()?api|as|lender|agent|upload|sleep) /.test(commands)) {
      if (printed !== "") throw new Error(`Cannot run ${commands}: it is no call that is known`);
      return [];
    }
    // A command goes on over lines that are indented.
    const steps = commands.split(/^(?! )/m).filter((command) => command !== "");
    return steps.map((command, i) => stepOf(command, i === steps.length - 1 ? printed : ""));
  });
}

/** `api /path -X PUT -d '{…}' | jq …`, or `as MEDIA/TYPE /path …`, and what it printed. */
function stepOf(command: string, printed: string): Command | Wait {
  const [, name, inner, kept_path = ""] = /^(\w+)=\$\((.*) \| jq -r ([.\w]+)\)\n$/.exec(command) ?? [];
  const kept = name === undefined ? undefined : { name, path: kept_path.split(".").slice(1) };
  const text = inner ?? command;
  const wait_s = /^sleep (\d+)\n/.exec(text)?.[1];
  if (wait_s !== undefined) return { wait_s: Number(wait_s) };
  const called = /^(?:as (\S+)|(api|lender|agent)) '?([^\s']+)/.exec(text);
  const sent = UPLOAD.exec(text);
  const [, type, caller = "api", target = ""] = called ?? ["", undefined, ...(sent?.slice(1) ?? [])];
  if (!called && !sent) throw new Error(`Cannot run ${text}: it is no call that is known`);
  const path = sent ? `/agent/applications/${target}/documents` : target;
  const body = / (?:-d|--data-binary) '((?:[^']|'\$[A-Z]+')*)'/.exec(text)?.[1];
  const form = sent ? formOf(sent) : undefined;
  const method = / -X (\w+)/.exec(text)?.[1] ?? ((body ?? form) === undefined ? "GET" : "POST");
  const shown = printed
    .trim()
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
  return { text: text.trim(), caller, method, path, body, type, kept, form, shown };
}

/** `upload ID TYPE FILE`, as docs/loans.md defines it. */
const UPLOAD = /^(upload) (\d+) (\w+) (\S+)/;

function formOf([, , , type = "", name = ""]: RegExpExecArray): FormData {
  const form = new FormData();
  form.set("type", type);
  form.set("file", new Blob([FILES[name] ?? ""]), name);
  return form;
}

/** The files that guides make before they send them. */
const FILES: Record<string, string> = { "payslip.pdf": "%PDF-1.7\nA payslip\n" };

/** An object somewhere in an answer; `in_list` is the name of the list that it stands in. */
interface Found {
  readonly object: Json;
  readonly in_list: string | null;
}

/** Records inside records, whose ids could be taken for the answer's own. */
const EMBEDDED = new Set(["client", "product", "billing_model", "subscription"]);

/** Every object of an answer, outer ones first. */
function* objectsOf(value: Json, in_list: string | null = null): Generator<Found, void, undefined> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value)) yield { object: value, in_list };
  for (const [key, inner] of Object.entries(value)) {
    if (EMBEDDED.has(key)) continue;
    yield* Array.isArray(inner) ? inner.flatMap((item) => [...objectsOf(item, key)]) : objectsOf(inner, null);
  }
}

/** Finds what is shown in an answer, in its order; of a bill's lines all must be shown, or none. */
export function expectShown({ text, shown }: Command, answer: Json): void {
  const objects = [...objectsOf(answer)];
  let next = 0;
  let lines = 0;
  for (const wanted of shown) {
    const place = objects.findIndex(({ object }, i) => i >= next && holds(object, wanted));
    if (place < 0) {
      throw new Error(`${text}\nshows ${JSON.stringify(wanted)}\nanswered ${JSON.stringify(answer)}`);
    }
    if (objects[place]?.in_list === "lines") lines += 1;
    next = place + 1;
  }
  const all = objects.filter(({ in_list }) => in_list === "lines").length;
  if (lines > 0) expect(lines, text).toBe(all);
}

function holds(object: Json, wanted: Json): boolean {
  return Object.entries<Json>(wanted).every(([key, value]) => isShown(object[key], value));
}

/** A text that ends in … shows how another begins: secrets and what is made up anew each time. */
function isShown(value: Json, wanted: Json): boolean {
  if (typeof wanted !== "string" || !wanted.endsWith("…")) return Bun.deepEquals(value, wanted);
  return typeof value === "string" && value.startsWith(wanted.slice(0, -1));
}
