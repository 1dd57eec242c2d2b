import { AppError } from "../../core/errors.ts";
import { readCertificate } from "../../core/pem.ts";
import type { Reads } from "../../store/store.ts";
import { InvalidMessage, parseMessage } from "../scheme/fpx_messages.ts";
import { readCallback } from "../scheme/fpx.ts";
import type { SchemeCallback } from "../scheme/connector.ts";
import { findCallbackSeller } from "./queries.ts";

/** A callback that the scheme has signed. */
export interface VerifiedCallback extends SchemeCallback {
  /** The seller's company, which must own the order. */
  company_id: number;
}

/**
 * Parses and verifies the raw form body of an FPX callback. Only the signature proves the sender: the exchange and
 * seller named in the body just select the certificate. Errors: malformed, in the same words for an unknown seller
 * and a bad signature.
 */
export async function readFpxCallback(
  q: Reads,
  raw_body: string,
  now: Temporal.Instant,
): Promise<VerifiedCallback> {
  const { sellerExId = "", sellerId = "" } = peek(raw_body);
  const seller = await findCallbackSeller(q, sellerExId, sellerId);
  const certificate = seller && readCertificate(seller.scheme_certificate_pem).read;
  if (!seller || !certificate) throw refused(UNSIGNED);
  try {
    return { ...readCallback({ ...seller, certificate }, raw_body, now), company_id: seller.company_id };
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
