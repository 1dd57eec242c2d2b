import { type Static, Type } from "@sinclair/typebox";
import { findApiKey } from "../../access/api_keys/queries.ts";
import type { Context } from "../../app/context.ts";
import { operation } from "../../app/operation.ts";
import { readTx, transaction } from "../../app/transaction.ts";
import type { Actor } from "../../core/access.ts";
import { deleteInBatches } from "../../core/delete_in_batches.ts";
import { type Download, createDownloadStream } from "../../core/download.ts";
import { AppError, orNotFound } from "../../core/errors.ts";
import { SHARED_LIMITS } from "../../core/limits.ts";
import { LIMITS } from "../limits.ts";
import { listPage } from "../../core/pagination.ts";
import { ById, listed, Nothing } from "../../core/schema.ts";
import type { BlobName } from "../../store/blob_store.ts";
import type { ReadTx, Reads } from "../../store/store.ts";
import { recordEvents } from "../../webhooks/events/queries.ts";
import { findApplication, requireApplication } from "../applications/queries.ts";
import { isFinal, stateAt } from "../applications/rules.ts";
import { extendIdleDeadline } from "../applications/transition.ts";
import { changedMeanwhile } from "../conflict.ts";
import { loanReadTx, type LoanScope, loanScopeOf, loanTransaction } from "../scope.ts";
import { ListDocuments, LoanDocument, RejectDocument, SweptDocuments } from "./model.ts";
import * as queries from "./queries.ts";
import { checkDeletable, documentEvent, downloadName, nextStatus } from "./rules.ts";
import { receiveUpload } from "./upload.ts";

/** An upload: the request with its unread body, and a way to authenticate it again in a transaction. */
const UploadDocument = Type.Unsafe<{
  id: number;
  request: Request;
  renew: (q: Reads) => Promise<Pick<Context, "actor" | "now">>;
}>(Type.Any());

/** Lists an application's documents, superseded ones included; whole unless a page is requested. Errors: not_found. */
export const listLoanDocuments = operation({
  name: "list_loan_documents",
  permission: "lending:read",
  input: ListDocuments,
  output: listed(LoanDocument),
  run: list,
});

/** Lists the documents of one of the loan agent's applications. Errors: not_found. */
export const listOwnLoanDocuments = operation({
  name: "list_own_loan_documents",
  permission: "borrowing:read",
  input: ListDocuments,
  output: listed(LoanDocument),
  run: list,
});

/** Finds one document. Errors: not_found. */
export const getLoanDocument = operation({
  name: "get_loan_document",
  permission: "lending:read",
  input: ById,
  output: LoanDocument,
  run: (ctx, { id }) => findDocument(loanReadTx(ctx), id),
});

/** Downloads a document's bytes with their recognised media type. Errors: not_found. */
export const downloadLoanDocument = operation({
  name: "download_loan_document",
  permission: "lending:read",
  audited: true,
  input: ById,
  output: Type.Unsafe<Download>(Type.Any()),
  async run(ctx, { id }) {
    const tx = loanReadTx(ctx);
    const { content_type, file_name } = await findDocument(tx, id);
    const content = orNotFound(await queries.findContent(tx, id), "Document", id);
    const body = await createDownloadStream(await ctx.documents.read(tx.scope.company_id, content), {
      idle_ms: SHARED_LIMITS.download_idle_ms,
      bytes_s: SHARED_LIMITS.download_bytes_s,
      onError: (error) =>
        ctx.log.warn({ err: error, request_id: ctx.request_id }, "a document's download broke off"),
    });
    return { media_type: content_type, filename: downloadName(file_name, content_type), body };
  },
});

/**
 * Stores a document of an application that is not in a final state, and supersedes the current one of its type. The
 * media type is read from the bytes; the response is sent once they are on disk. Errors: not_found; unauthorized when
 * the token has ended by then; conflict in a final state or with 50 documents; too_large, unsupported_media_type,
 * invalid, malformed and timed_out for the request; unavailable when too much comes in. Decision 0105.
 */
export const uploadLoanDocument = operation({
  name: "upload_loan_document",
  permission: "borrowing:write",
  input: UploadDocument,
  output: LoanDocument,
  async run(ctx, { id: application_id, request, renew }) {
    const { store, documents } = ctx;
    const before = loanReadTx(ctx);
    const { company_id } = before.scope;
    // Before anything is read: a refused upload need not be sent.
    await findOpen(before, application_id);
    const staged = await documents.stage(company_id);
    try {
      const { type, file_name, content_type } = await receiveUpload(request, staged);
      return await documents.commit(company_id, staged, usedIn(ctx), (stored) =>
        store.tx(async (q) => {
          // The upload took time: the loan agent's key may have been revoked since.
          const { actor, now } = await renew(q);
          const tx = { q, scope: loanScopeOf(actor), now };
          const application = await findOpen(tx, application_id);
          await queries.supersedeDocument(tx, { application_id, type });
          const uploaded_by = await uploaderOf(tx, actor);
          const facts = { application_id, type, file_name, content_type, uploaded_by, ...stored };
          const document = await queries.insertDocument(tx, facts);
          await extendIdleDeadline(tx, application);
          await recordEvents(tx, [documentEvent("uploaded", document)]);
          return document;
        }),
      );
    } finally {
      await staged.discard();
    }
  },
});

/**
 * Deletes a document, and its file unless another document has the same content: while the application may be edited,
 * and unless the lender has verified it. Errors: not_found, conflict. Decision 0105.
 */
export const deleteLoanDocument = operation({
  name: "delete_loan_document",
  permission: "borrowing:write",
  uses_reserve: true,
  input: ById,
  output: Nothing,
  async run(ctx, { id }) {
    const content = await loanTransaction(ctx, async (tx) => {
      const document = await findDocument(tx, id);
      const application = orNotFound(await findApplication(tx, document.application_id), "Document", id);
      checkDeletable(document, stateAt(application, tx.now));
      const deleted = await queries.deleteDocument(tx, document);
      if (deleted === undefined) throw changedMeanwhile(`delete document ${id}`);
      return deleted;
    });
    await removeFiles(ctx, [content]);
    return {};
  },
});

/** Verifies a document. Errors: not_found; conflict unless it is pending review. */
export const verifyLoanDocument = operation({
  name: "verify_loan_document",
  permission: "lending:write",
  input: ById,
  output: LoanDocument,
  run: (ctx, { id }) => review(ctx, id, "verify", { reason_code: null, note: null }),
});

/** Rejects a document, with the reason. Errors: not_found; conflict unless it is pending review. */
export const rejectLoanDocument = operation({
  name: "reject_loan_document",
  permission: "lending:write",
  input: RejectDocument,
  output: LoanDocument,
  run: (ctx, { id, reason_code, note = null }) => review(ctx, id, "reject", { reason_code, note }),
});

/**
 * Deletes the documents of deleted drafts and of applications that ended without a loan LOAN_DOCUMENT_DAYS ago, and
 * files that nothing refers to; moves files to DOCUMENTS_URL where that is set. Decisions 0105 and 0324.
 */
export const sweepLoanDocuments = operation({
  name: "sweep_loan_documents",
  permission: "lending:write",
  uses_reserve: true,
  unaudited: true,
  input: Nothing,
  output: SweptDocuments,
  async run(ctx) {
    const { now, config, documents, background } = ctx;
    const until = now.subtract({ hours: 24 * config.loan_document_days });
    const swept = { documents: 0, files: 0, moved: 0 };
    await deleteInBatches(background, async (limit) => {
      const contents = await transaction(ctx, (tx) => queries.deleteEndedDocuments(tx, until, limit));
      swept.documents += contents.length;
      swept.files += await removeFiles(ctx, contents);
      return contents.length;
    });
    if (documents.is_bucket) swept.moved = await moveFiles(ctx);
    swept.files += await documents.sweep(readTx(ctx).scope.company_id, now, usedIn(ctx));
    return swept;
  },
});

/** Moves the company's files of this DATA_DIR to the bucket; returns how many documents have an object now. */
async function moveFiles(ctx: Context): Promise<number> {
  const { documents, background } = ctx;
  const tx = readTx(ctx);
  let moved = 0;
  for (let after_id = 0; !background.is_stopping; ) {
    const batch = await queries.listFiles(tx, { after_id, limit: SHARED_LIMITS.prune_rows });
    for (const { id, ...file } of batch) {
      if (background.is_stopping) return moved;
      const is_moved = await documents.moveIn(tx.scope.company_id, file, usedIn(ctx), (object_id) =>
        transaction(ctx, (own) => queries.moveContent(own, { id, object_id })),
      );
      if (is_moved) moved++;
    }
    const last = batch.at(-1);
    if (last === undefined) break;
    after_id = last.id;
  }
  return moved;
}

async function list(ctx: Context, { id, ...page }: Static<typeof ListDocuments>) {
  const tx = loanReadTx(ctx);
  await requireApplication(tx, id);
  return listPage(page, (slice) => queries.listDocuments(tx, id, slice));
}

/** Errors: not_found. */
async function findDocument(tx: ReadTx<LoanScope>, id: number): Promise<LoanDocument> {
  return orNotFound(await queries.findDocument(tx, id), "Document", id);
}

/** An application that takes another document. Errors: not_found, conflict. */
async function findOpen(tx: ReadTx<LoanScope>, id: number) {
  const application = await requireApplication(tx, id);
  const cannotAdd = (why: string) =>
    new AppError("conflict", `Cannot add a document to application ${id}: it ${why}`);
  const status = stateAt(application, tx.now);
  if (isFinal(status)) throw cannotAdd(`is ${status}`);
  if ((await queries.countDocuments(tx, id)) >= LIMITS.documents_application) {
    throw cannotAdd(`has ${LIMITS.documents_application} already`);
  }
  return application;
}

/** The email of a user, or the clientId of a key, which need not be the one that created the application. */
async function uploaderOf(tx: ReadTx, actor: Actor): Promise<string> {
  if (actor.kind === "user") return actor.email;
  const key = actor.kind === "key" ? await findApiKey(tx, actor.key_id) : undefined;
  return key?.clientId ?? "";
}

/** Records a review of a document. Errors: not_found, conflict. */
function review(
  ctx: Context,
  id: number,
  trigger: "verify" | "reject",
  reason: Pick<LoanDocument, "reason_code" | "note">,
): Promise<LoanDocument> {
  return loanTransaction(ctx, async (tx) => {
    const before = await findDocument(tx, id);
    const application = await findApplication(tx, before.application_id);
    if (!application || isFinal(stateAt(application, tx.now))) {
      throw new AppError("conflict", `Cannot ${trigger} document ${id}: its application has ended`);
    }
    const status = nextStatus(before, trigger);
    const document = await queries.reviewDocument(tx, before, { status, ...reason });
    if (!document) throw changedMeanwhile(`${trigger} document ${id}`);
    await recordEvents(tx, [documentEvent(trigger === "verify" ? "verified" : "rejected", document)]);
    return document;
  });
}

/** Removes files that nothing refers to any more, and returns their number; the job retries a failure. */
async function removeFiles(ctx: Context, contents: readonly string[]): Promise<number> {
  try {
    const { company_id } = readTx(ctx).scope;
    return await ctx.documents.removeUnused(company_id, contents, usedIn(ctx));
  } catch (error) {
    ctx.log.warn(
      { err: error, request_id: ctx.request_id },
      "cannot remove a document's file: it will be tried again",
    );
    return 0;
  }
}

/** Those of the contents that the company's documents still refer to. */
const usedIn = (ctx: Context) => (names: readonly BlobName[]) => queries.listUsedContents(readTx(ctx), names);
