import { AppError } from "../../core/errors.ts";
import { readCertificate } from "../../core/pem.ts";
import type { Reads } from "../../store/store.ts";
import { BadMessage, parseMessage } from "../mandates/schemes/fpx_messages.ts";
import { readCallback } from "../mandates/schemes/fpx.ts";
import type { SchemeCallback } from "../mandates/schemes/scheme.ts";
import { type CallbackReader, listCallbackReaders } from "./queries.ts";

/** A callback that the scheme has signed. */
export interface BelievedCallback extends SchemeCallback {
  /** The companies that it may be for: those of this seller. Its order must be one of theirs. */
  company_ids: number[];
}

/**
 * Reads the raw form body of an FPX callback. Who sent it is known by the signature alone: the exchange and seller
 * that the body names only choose the certificates that are tried. Errors: malformed, in the same words for an
 * unknown seller and a bad signature.
 */
export async function readFpxCallback(
  q: Reads,
  raw_body: string,
  now: Temporal.Instant,
): Promise<BelievedCallback> {
  const { sellerExId = "", sellerId = "" } = peek(raw_body);
  const readers = await listCallbackReaders(q, sellerExId, sellerId);
  const certificates = Map.groupBy(readers, ({ scheme_certificate_pem }) => scheme_certificate_pem);
  const believed = [...certificates.values()].flatMap((same) => {
    const callback = tryReading(same, raw_body, now);
    return callback === null ? [] : [{ callback, company_ids: same.map(({ company_id }) => company_id) }];
  });
  const [first] = believed;
  if (first === undefined) throw refused("the checksum is not the scheme's");
  return { ...first.callback, company_ids: believed.flatMap(({ company_ids }) => company_ids) };
}

/** What companies of one certificate make of it; null where they don't believe it. */
function tryReading(
  [reader]: CallbackReader[],
  raw_body: string,
  now: Temporal.Instant,
): SchemeCallback | null {
  const certificate = reader && readCertificate(reader.scheme_certificate_pem).read;
  if (!reader || !certificate) return null;
  try {
    return readCallback({ ...reader, certificate }, raw_body, now);
  } catch (error) {
    if (error instanceof AppError && error.kind === "malformed") return null;
    throw error;
  }
}

function peek(raw_body: string) {
  try {
    return parseMessage(raw_body);
  } catch (error) {
    throw error instanceof BadMessage ? refused(error.message) : error;
  }
}

function refused(reason: string): AppError {
  return new AppError("malformed", `Cannot take the callback: ${reason}`);
}
