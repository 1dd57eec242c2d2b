import { AppError, invalid } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import { decode } from "../../core/validate.ts";
import { type IncomingFile, readMultipart } from "../../http/multipart.ts";
import type { DocumentType } from "../programs/model.ts";
import type { StagedFile } from "../../store/staged_files.ts";
import { type ContentType, UploadFields } from "./model.ts";
import { cleanFileName, contentTypeOf, SIGNATURE_BYTES } from "./rules.ts";

/** The fields of an upload. */
export interface Upload {
  type: DocumentType;
  file_name: string;
  content_type: ContentType;
}

const FORM = {
  file: "file",
  file_bytes: LIMITS.document_bytes,
  envelope_bytes: LIMITS.document_envelope_bytes,
  field_bytes: LIMITS.document_field_bytes,
  time_ms: LIMITS.document_upload_ms,
};

/** Streams the file of a multipart request to disk. Errors: those of readMultipart; invalid, unsupported_media_type. */
export async function receiveUpload(request: Request, staged: StagedFile): Promise<Upload> {
  const { fields, file } = await readMultipart(request, FORM, (incoming) => receive(incoming, staged));
  const { type } = decode(UploadFields, fields);
  return { type, ...file };
}

async function receive({ name, bytes }: IncomingFile, staged: StagedFile): Promise<Omit<Upload, "type">> {
  const file_name = cleanFileName(name);
  if (file_name === "") throw invalid("/file", "must have a name of visible characters");
  let start = new Uint8Array();
  let content_type: ContentType | null = null;
  for await (const piece of bytes) {
    if (start.byteLength < SIGNATURE_BYTES) {
      start = Uint8Array.of(...start, ...piece.subarray(0, SIGNATURE_BYTES - start.byteLength));
      content_type = contentTypeOf(start);
      // At once, not after ten megabytes.
      if (start.byteLength === SIGNATURE_BYTES) rejectUnexpected(content_type);
    }
    await staged.write(piece);
  }
  if (staged.size === 0) throw invalid("/file", "must not be empty");
  return { file_name, content_type: rejectUnexpected(content_type) };
}

/** Errors: unsupported_media_type. */
function rejectUnexpected(content_type: ContentType | null): ContentType {
  if (content_type !== null) return content_type;
  throw new AppError("unsupported_media_type", "The file must be a PDF, a JPEG or a PNG, by its first bytes");
}
