import { isDeepStrictEqual } from "node:util";
import { LIMITS } from "./limits.ts";
import { SHARED_LIMITS } from "../core/limits.ts";
import { pointerPart } from "../core/errors.ts";
import { isSecretName } from "../core/secret_names.ts";
import type { Change, Plain } from "./model.ts";

/** Texts that look like secrets: signed tokens, webhook secrets, authorization headers, PEM. */
const SECRET_TEXT = /(^|[^\w-])(eyJ[\w-]{8,}\.|whsec_|mh[acr]_[\w-]{20}|(bearer|basic) +\S)|-----BEGIN /i;

/** A value that may be logged, and JSON pointers to what was left out. */
export interface Redacted {
  value: Plain;
  withheld: string[];
}

/**
 * Redacts a value for the audit log. Left out, and named in `withheld`, are fields that may hold secrets, texts that
 * look like one, what is not plain data, and what exceeds the size of an entry. URLs keep only their origin: the rest
 * may be a secret.
 */
export function redact(value: unknown): Redacted {
  const withheld: string[] = [];
  let room = LIMITS.audit_entry_characters;

  function withhold(path: string): undefined {
    if (withheld.length < LIMITS.audit_entry_withheld)
      withheld.push(path.slice(0, SHARED_LIMITS.name_length));
    return undefined;
  }

  function keepText(text: string, path: string): Plain | undefined {
    if (SECRET_TEXT.test(text)) return withhold(path);
    const plain = /^\w+:\/\//.test(text) ? originOf(text) : cut(text);
    if (plain === undefined) return withhold(path);
    room -= plain.length;
    return plain;
  }

  function keepMembers(members: [string, unknown][], path: string, depth: number): [string, Plain][] {
    return members.flatMap(([name, member]): [string, Plain][] => {
      const at = `${path}/${pointerPart(name)}`;
      room -= name.length;
      const plain = isSecretName(name) ? withhold(at) : keep(member, at, depth);
      return plain === undefined ? [] : [[name, plain]];
    });
  }

  function keep(member: unknown, path: string, depth: number): Plain | undefined {
    if (member === undefined) return undefined;
    if (room <= 0 || depth > LIMITS.audit_entry_depth) return withhold(path);
    room -= 4;
    if (typeof member === "string") return keepText(member, path);
    if (member === null || typeof member === "boolean") return member;
    // JSON knows no negative zero.
    if (typeof member === "number") return Number.isFinite(member) ? member + 0 : withhold(path);
    if (Array.isArray(member)) {
      const members = member.slice(0, LIMITS.audit_entry_members);
      if (members.length < member.length) withhold(`${path}/${members.length}`);
      return keepMembers(Object.entries(members), path, depth + 1).map(([, plain]) => plain);
    }
    return isPlainObject(member)
      ? Object.fromEntries(keepMembers(Object.entries(member), path, depth + 1))
      : withhold(path);
  }

  const plain = keep(value, "", 0);
  return { value: plain ?? null, withheld };
}

/** The fields that differ between two versions of a record, redacted. */
export function changesBetween(before: object, after: object): Record<string, Change> {
  const old = new Map<string, unknown>(Object.entries(before));
  const changed = Object.entries(after).filter(
    ([name, value]) => name !== "updated_at" && !isDeepStrictEqual(old.get(name) ?? null, value ?? null),
  );
  return Object.fromEntries(
    changed
      .filter(([name]) => !isSecretName(name))
      .map(([name, value]) => [
        name,
        { old: redact(old.get(name) ?? null).value, new: redact(value ?? null).value },
      ]),
  );
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** The origin of a URL, with an ellipsis for the rest. */
function originOf(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || url.host === "") return undefined;
  const origin = `${url.protocol}//${url.host}`;
  return /^\/?$/.test(`${url.pathname}${url.search}${url.hash}`) && url.username === ""
    ? origin
    : `${origin}/…`;
}

function cut(text: string): string {
  const most = LIMITS.audit_entry_text;
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}
