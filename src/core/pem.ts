import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { SHARED_LIMITS } from "./limits.ts";
import { iso } from "./time.ts";

// What users send as PEM text, read and judged. Reading the same text gives the same answer: nothing is looked up.

/** A key or certificate that can be used, or what is wrong with it, as it reads after the field's name. */
type ReadPem<T> = { read: T; problem?: undefined } | { read?: undefined; problem: string };

const BLOCK = /^\s*-----BEGIN ([A-Z0-9 ]+)-----[A-Za-z0-9+/=\s]+-----END \1-----\s*$/;

/** An RSA private key, in PKCS#8 or PKCS#1, without a passphrase. */
export function readPrivateKey(pem: string): ReadPem<KeyObject> {
  const label = BLOCK.exec(pem)?.[1];
  if (label === "ENCRYPTED PRIVATE KEY" || pem.includes("Proc-Type:")) {
    return { problem: "must be without a passphrase" };
  }
  if (label !== "PRIVATE KEY" && label !== "RSA PRIVATE KEY")
    return { problem: "must be one private key in PEM" };
  const key = orNull(() => createPrivateKey(pem));
  if (key === null) return { problem: "must be a private key in PEM that can be read" };
  const problem = sizeProblem(key);
  return problem === null ? { read: key } : { problem };
}

/** A certificate with an RSA key. */
export function readCertificate(pem: string): ReadPem<X509Certificate> {
  if (BLOCK.exec(pem)?.[1] !== "CERTIFICATE") return { problem: "must be one certificate in PEM" };
  const certificate = orNull(() => new X509Certificate(pem));
  if (certificate === null) return { problem: "must be a certificate in PEM that can be read" };
  const problem = sizeProblem(certificate.publicKey);
  return problem === null ? { read: certificate } : { problem };
}

function sizeProblem(key: KeyObject): string | null {
  const bits = key.asymmetricKeyType === "rsa" ? (key.asymmetricKeyDetails?.modulusLength ?? 0) : 0;
  const { rsa_bits_min: min, rsa_bits_max: max } = SHARED_LIMITS;
  return bits >= min && bits <= max ? null : `must have an RSA key of ${min} to ${max} bits`;
}

/** The public description of a certificate: fingerprint and expiry. */
export function describeCertificate(certificate: X509Certificate) {
  return {
    certificate_fingerprint: certificate.fingerprint256,
    certificate_expires_at: iso(validityOf(certificate).to),
  };
}

/** From when to when a certificate is valid. */
export function validityOf({ validFromDate, validToDate }: X509Certificate): {
  from: Temporal.Instant;
  to: Temporal.Instant;
} {
  return {
    from: Temporal.Instant.fromEpochMilliseconds(validFromDate.getTime()),
    to: Temporal.Instant.fromEpochMilliseconds(validToDate.getTime()),
  };
}

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
