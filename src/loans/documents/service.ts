import { Type } from "@sinclair/typebox";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { type Actor, scopeOf } from "../../core/access.ts";
import { type Download, createDownloadStream } from "../../core/download.ts";
import { AppError, notFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { listPage } from "../../core/pagination.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { ReadTx } from "../../store/store.ts";
import { findApiKey } from "../../access/api_keys/queries.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { extendIdleDeadline } from "../applications/transition.ts";
import { findApplication } from "../applications/queries.ts";
import { isFinal, stateAt } from "../applications/rules.ts";
import { ListDocuments, LoanDocument, RejectDocument, SweptDocuments, UploadDocument } from "./model.ts";
import * as queries from "./queries.ts";
import { documentEvent, downloadName, nextStatus, refuseRemoval } from "./rules.ts";
import { receiveUpload } from "./upload.ts";
import { loanReadTx, type LoanScope, loanScopeOf, loanTransaction } from "../scope.ts";

/**
 * Lists an application's documents, superseded ones too, for the lender; whole when no page is asked for.
 * Errors: not_found.
 */
export const listLoanDocuments = operation({
  name: "list_loan_documents",
  permission: "lending:read",
  input: ListDocuments,
  output: listed(LoanDocument),
  run: listOf,
});

/** The same for the agent, of its own applications. Errors: not_found. */
export const listOwnLoanDocuments = operation({
  name: "list_own_loan_documents",
  permission: "borrowing:read",
  input: ListDocuments,
  output: listed(LoanDocument),
  run: listOf,
});

/** Finds one document. Errors: not_found. */
export const getLoanDocument = operation({
  name: "get_loan_document",
  permission: "lending:read",
  input: ById,
  output: LoanDocument,
  run: (ctx, { id }) => findDocument(loanReadTx(ctx), id),
});

/** Sends a document's bytes, as what they were recognised as. Errors: not_found. */
export const downloadLoanDocument = operation({
  name: "download_loan_document",
  permission: "lending:read",
  audited: true,
  input: ById,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { id }) {
    const scope = loanScopeOf(ctx.actor);
    const { content_type, file_name, sha256 } = await findDocument(loanReadTx(ctx), id);
    const body = await createDownloadStream(await ctx.documents.read(scope.company_id, sha256), {
      idle_ms: SHARED_LIMITS.download_idle_ms,
      bytes_s: SHARED_LIMITS.download_bytes_s,
      onError: (error) =>
        ctx.log.warn({ err: error, request_id: ctx.request_id }, "a document's download broke off"),
    });
    return { media_type: content_type, filename: downloadName(file_name, content_type), body };
  },
});

/**
 * Stores a document with an application that has not come to its end. One of its type that was there before is
 * superseded. What the bytes are is read from them. The answer is sent when they are on disk. Errors: not_found;
 * unauthorized when the token has ended by then; conflict at the end or with 50 documents; too_large, unsupported_media_type, invalid, malformed and timed_out
 * for what is sent; unavailable when too much comes in. Decision 0105.
 */
export const uploadLoanDocument = operation({
  name: "upload_loan_document",
  permission: "borrowing:write",
  input: UploadDocument,
  output: LoanDocument,
  async run(ctx, { id: application_id, request, renew }) {
    const { store, documents } = ctx;
    const { company_id } = scopeOf(ctx.actor);
    // Before anything is read; whoever is refused here need not send it all.
    await findOpen({ q: store.read, scope: loanScopeOf(ctx.actor), now: ctx.now }, application_id);
    const staged = await documents.stage(company_id);
    try {
      const { type, file_name, content_type } = await receiveUpload(request, staged);
      const used = usedIn(ctx, company_id);
      return await documents.commit(company_id, staged, used, (written) =>
        store.tx(async (q) => {
          // The file took its time: its agent's key may have been revoked meanwhile.
          const { actor, now } = await renew(q);
          const scope = loanScopeOf(actor);
          const application = await findOpen({ q, scope, now }, application_id);
          await queries.supersedeDocument({ q, scope, now }, { application_id, type });
          const uploaded_by = await nameOf({ q, scope, now }, actor);
          const facts = { application_id, type, file_name, content_type, uploaded_by, ...written };
          const document = await queries.insertDocument({ q, scope, now }, facts);
          await extendIdleDeadline({ q, scope, now }, application);
          await recordEvents({ q, scope, now }, [documentEvent("uploaded", document)]);
          return document;
        }),
      );
    } finally {
      await staged.discard();
    }
  },
});

/**
 * Deletes a document, and its file when no other document has the same content: while the application may be
 * edited, and unless the lender has verified it. Errors: not_found, conflict. Decision 0105.
 */
export const deleteLoanDocument = operation({
  name: "delete_loan_document",
  permission: "borrowing:write",
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    const { store, actor, now } = ctx;
    const scope = loanScopeOf(actor);
    const { sha256 } = await store.tx(async (q) => {
      const document = await findDocument({ q, scope, now }, id);
      const application = await findApplication({ q, scope, now }, document.application_id);
      if (!application) throw notFound("Document", id);
      refuseRemoval(document, stateAt(application, now));
      if (!(await queries.deleteDocument({ q, scope, now }, document))) throw justChanged("delete", id);
      return document;
    });
    await removeFiles(ctx, scope.company_id, [sha256]);
    return {};
  },
});

/** Says that a document is what it should be. Errors: not_found; conflict unless it waits for its review. */
export const verifyLoanDocument = operation({
  name: "verify_loan_document",
  permission: "lending:write",
  input: ById,
  output: LoanDocument,
  run: (ctx, { id }) => review(ctx, id, "verify", { reason_code: null, note: null }),
});

/** Says why a document can't be used. Errors: not_found; conflict unless it waits for its review. */
export const rejectLoanDocument = operation({
  name: "reject_loan_document",
  permission: "lending:write",
  input: RejectDocument,
  output: LoanDocument,
  run: (ctx, { id, reason_code, note = null }) => review(ctx, id, "reject", { reason_code, note }),
});

/**
 * Forgets the documents of applications that came to nothing LOAN_DOCUMENT_DAYS ago, and of deleted drafts, and
 * removes files that nothing refers to. Decision 0105.
 */
export const sweepLoanDocuments = operation({
  name: "sweep_loan_documents",
  permission: "lending:write",
  unaudited: true,
  input: Nothing,
  output: SweptDocuments,
  async run(ctx) {
    const { store, actor, now, config, documents, background } = ctx;
    const { company_id } = scopeOf(actor);
    const ended = now.subtract({ hours: 24 * config.loan_document_days });
    let forgotten = 0;
    let files = 0;
    await deleteInBatches(background, async (limit) => {
      const contents = await store.tx((q) =>
        queries.deleteEndedDocuments({ q, scope: { company_id }, now }, ended, limit),
      );
      forgotten += contents.length;
      files += await removeFiles(ctx, company_id, contents);
      return contents.length;
    });
    const orphaned = now.subtract({ minutes: LIMITS.document_orphan_minutes });
    files += await documents.sweep(company_id, orphaned, usedIn(ctx, company_id));
    return { documents: forgotten, files };
  },
});

async function listOf(ctx: Context, { id, ...page }: { id: number; page?: number; limit?: number }) {
  if (!(await findApplication(loanReadTx(ctx), id))) throw notFound("Application", id);
  return listPage(page, (slice) => queries.listDocuments(loanReadTx(ctx), id, slice));
}

/** Errors: not_found. */
async function findDocument(tx: ReadTx<LoanScope>, id: number): Promise<LoanDocument> {
  const document = await queries.findDocument(tx, id);
  if (!document) throw notFound("Document", id);
  return document;
}

/** An application that takes another document. Errors: not_found, conflict. */
async function findOpen(tx: ReadTx<LoanScope>, id: number) {
  const application = await findApplication(tx, id);
  if (!application) throw notFound("Application", id);
  const status = stateAt(application, tx.now);
  if (isFinal(status)) {
    throw new AppError("conflict", `Cannot add a document to application ${id}: it is ${status}`);
  }
  if ((await queries.countDocuments(tx, id)) >= LIMITS.documents_application) {
    throw new AppError(
      "conflict",
      `Cannot add a document to application ${id}: it has ${LIMITS.documents_application} already`,
    );
  }
  return application;
}

/** The clientId of an agent's key, which need not be the one that made the application; the email of a user. */
async function nameOf(tx: ReadTx, actor: Actor): Promise<string> {
  if (actor.kind === "user") return actor.email;
  const key =
    actor.kind === "key" ? await findApiKey({ ...tx, scope: scopeOf(actor) }, actor.key_id) : undefined;
  return key?.clientId ?? "";
}

/** Errors: not_found; conflict, also when somebody else was quicker. */
function review(
  ctx: Context,
  id: number,
  trigger: "verify" | "reject",
  reason: Pick<LoanDocument, "reason_code" | "note">,
): Promise<LoanDocument> {
  return loanTransaction(ctx, async (tx) => {
    const found = await findDocument(tx, id);
    const application = await findApplication(tx, found.application_id);
    if (!application || isFinal(stateAt(application, ctx.now))) {
      throw new AppError("conflict", `Cannot ${trigger} document ${id}: its application has ended`);
    }
    const status = nextStatus(found, trigger);
    const document = await queries.reviewDocument(tx, found, { status, ...reason });
    if (!document) throw justChanged(trigger, id);
    await recordEvents(tx, [documentEvent(trigger === "verify" ? "verified" : "rejected", document)]);
    return document;
  });
}

function justChanged(action: string, id: number): AppError {
  return new AppError("conflict", `Cannot ${action} document ${id}: it was changed at the same time`);
}

/** Removes files that nothing refers to any more; where that fails the job will. Answers how many. */
async function removeFiles(ctx: Context, company_id: number, contents: readonly string[]): Promise<number> {
  try {
    return await ctx.documents.removeUnused(company_id, contents, usedIn(ctx, company_id));
  } catch (error) {
    ctx.log.warn(
      { err: error, request_id: ctx.request_id },
      "cannot remove a document's file: it will be tried again",
    );
    return 0;
  }
}

function usedIn({ store, now }: Context, company_id: number) {
  return (sha256s: readonly string[]) =>
    queries.listUsedContents({ q: store.read, scope: { company_id }, now }, sha256s);
}
