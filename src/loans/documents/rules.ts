import { AppError } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import type { NewEvent } from "../../webhooks/events/model.ts";
import type { ApplicationStatus } from "../applications/model.ts";
import { nextStatus as nextApplicationStatus } from "../applications/rules.ts";
import type { DocumentType } from "../programs/model.ts";
import {
  CONTENT_TYPES,
  type ContentType,
  type DocumentState,
  type DocumentStatus,
  type LoanDocument,
} from "./model.ts";

export const DOCUMENT_TRIGGERS = ["verify", "reject", "supersede"] as const;
export type DocumentTrigger = (typeof DOCUMENT_TRIGGERS)[number];

/** The transitions of a document. */
export const DOCUMENT_STEPS: Record<DocumentStatus, Partial<Record<DocumentTrigger, DocumentStatus>>> = {
  pending_review: { verify: "verified", reject: "rejected", supersede: "superseded" },
  verified: { supersede: "superseded" },
  rejected: { supersede: "superseded" },
  superseded: {},
};

/** The document's status after a trigger. Errors: conflict where its status forbids it. */
export function nextStatus({ id, status }: Pick<LoanDocument, "id" | "status">, trigger: DocumentTrigger) {
  const next = DOCUMENT_STEPS[status][trigger];
  if (next === undefined) throw new AppError("conflict", `Cannot ${trigger} document ${id}: it is ${status}`);
  return next;
}

/** The types of the documents that are pending review or verified. */
export function presentTypes(documents: readonly DocumentState[]): Set<DocumentType> {
  const present = documents.filter(({ status }) => status === "pending_review" || status === "verified");
  return new Set(present.map(({ type }) => type));
}

/**
 * The types that count for a decision on an application. A document must be verified (again) if it replaced a verified
 * one, was verified as another borrower's, or came after the approval.
 */
export function decidedTypes(
  documents: readonly DocumentState[],
  approved_at: string | null,
): Set<DocumentType> {
  const verified_before = new Set(
    documents
      .filter((old) => old.status !== "verified" && old.reviewed_at !== null && old.reason_code === null)
      .map(({ type }) => type),
  );
  const counts = ({ type, status, created_at }: DocumentState) =>
    status === "verified" ||
    (!verified_before.has(type) && (approved_at === null || created_at <= approved_at));
  return presentTypes(documents.filter(counts));
}

/** The file signatures (magic numbers). */
const LEADING_BYTES: Record<ContentType, readonly number[]> = {
  "application/pdf": [...Buffer.from("%PDF-")],
  "image/jpeg": [0xff, 0xd8, 0xff],
  "image/png": [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
};

/** The length of the longest file signature. */
export const SIGNATURE_BYTES = Math.max(...Object.values(LEADING_BYTES).map(({ length }) => length));

/** The media type of a file by its signature; null for types that are not accepted. */
export function contentTypeOf(start: Uint8Array): ContentType | null {
  return CONTENT_TYPES.find((type) => LEADING_BYTES[type].every((byte, i) => start[i] === byte)) ?? null;
}

/** Control, format and other invisible characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

/**
 * A cleaned file name: without folders and invisible characters, at most 200 characters with its ending. Empty when
 * nothing remains.
 */
export function cleanFileName(sent: string): string {
  const name = (sent.split(/[\\/]/).at(-1) ?? "")
    .replaceAll(INVISIBLE, "")
    .normalize("NFC")
    .replaceAll(/[<>:"|?*]/g, "_")
    .replaceAll(/\s+/g, " ")
    .replace(/^[. ]+/, "");
  const characters = Array.from(name);
  if (characters.length <= LIMITS.document_name_length) return name.replace(/[. ]+$/, "");
  const ending = /\.[A-Za-z0-9]{1,10}$/.exec(name)?.[0] ?? "";
  const stem = characters.slice(0, LIMITS.document_name_length - ending.length).join("");
  return `${stem.replace(/[. ]+$/, "")}${ending}`;
}

/** The domain event of a document. */
export function documentEvent(
  happened: "uploaded" | "verified" | "rejected",
  { id, application_id, type, status, reason_code, environment }: LoanDocument,
): NewEvent {
  return {
    type: `document.${happened}`,
    data: { id, application_id, type, status, reason_code, environment },
  };
}

const ENDINGS: Record<ContentType, readonly [string, ...string[]]> = {
  "application/pdf": [".pdf"],
  "image/jpeg": [".jpg", ".jpeg"],
  "image/png": [".png"],
};

/** The file name of a download, with an ending that matches its media type. */
export function downloadName(file_name: string, content_type: ContentType): string {
  const endings = ENDINGS[content_type];
  const fits = endings.some((ending) => file_name.toLowerCase().endsWith(ending));
  return fits ? file_name : file_name + endings[0];
}

/** Errors: conflict, unless the application may be edited and the document was not verified. */
export function checkDeletable(
  { id, status }: Pick<LoanDocument, "id" | "status">,
  application_status: ApplicationStatus,
): void {
  const why =
    nextApplicationStatus(application_status, "edit") === undefined
      ? `its application is ${application_status.replaceAll("_", " ")}`
      : status === "verified" && "it is verified";
  if (why) throw new AppError("conflict", `Cannot delete document ${id}: ${why}`);
}
