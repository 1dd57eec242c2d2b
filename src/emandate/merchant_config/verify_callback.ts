import { AppError } from "../../core/errors.ts";
import { readCertificate } from "../../core/pem.ts";
import type { Reads } from "../../store/store.ts";
import { InvalidMessage, parseMessage } from "../scheme/fpx_messages.ts";
import { readCallback } from "../scheme/fpx.ts";
import type { SchemeCallback } from "../scheme/connector.ts";
import { findCallbackReader } from "./queries.ts";

/** A callback that the scheme has signed. */
export interface VerifiedCallback extends SchemeCallback {
  /** Whose seller it is for: its order must be one of that company. */
  company_id: number;
}

/**
 * Reads the raw form body of an FPX callback. Who sent it is known by the signature alone: the exchange and seller
 * that the body names only choose the certificate that is tried. Errors: malformed, in the same words for an
 * unknown seller and a bad signature.
 */
export async function readFpxCallback(
  q: Reads,
  raw_body: string,
  now: Temporal.Instant,
): Promise<VerifiedCallback> {
  const { sellerExId = "", sellerId = "" } = peek(raw_body);
  const reader = await findCallbackReader(q, sellerExId, sellerId);
  const certificate = reader && readCertificate(reader.scheme_certificate_pem).read;
  if (!reader || !certificate) throw refused(UNSIGNED);
  try {
    return { ...readCallback({ ...reader, certificate }, raw_body, now), company_id: reader.company_id };
  } catch (error) {
    throw error instanceof AppError && error.kind === "malformed" ? refused(UNSIGNED) : error;
  }
}

const UNSIGNED = "the checksum is not the scheme's";

function peek(raw_body: string) {
  try {
    return parseMessage(raw_body);
  } catch (error) {
    throw error instanceof InvalidMessage ? refused(error.message) : error;
  }
}

function refused(reason: string): AppError {
  return new AppError("malformed", `Cannot take the callback: ${reason}`);
}
