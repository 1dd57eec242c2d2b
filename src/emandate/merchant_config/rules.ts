import { describeCertificate, readCertificate, readPrivateKey } from "../../core/pem.ts";
import type { Config } from "../../core/config.ts";
import type { ErrorDetail } from "../../core/errors.ts";
import { LIMITS } from "../limits.ts";
import {
  addressProblem,
  literalAddresses,
  readUrl,
  type DestinationPolicy,
} from "../../webhooks/endpoints/rules.ts";
import { AUTHORIZATION_AMOUNT } from "../scheme/connector.ts";
import type { MerchantConfig, UpdateEmandateConfig } from "./model.ts";
import type { emandateConfigTable } from "./tables.ts";

/** A company's configuration as it is stored. */
export type StoredConfig = Omit<ReturnType<typeof emandateConfigTable>["$inferSelect"], "created_at">;

/** The configuration of a company that never changed it. */
export const DEFAULTS = {
  connector: "sandbox",
  exchange_id: null,
  seller_id: null,
  private_key_sealed: null,
  scheme_certificate_pem: null,
  callback_url: null,
  return_url: null,
  max_retries: 3,
  retry_interval_days: 1,
  first_collection_lead_days: 2,
  suspend_after_failures: 1,
  auto_collect: true,
  holidays: [] as string[],
} satisfies Omit<StoredConfig, "company_id" | "updated_at">;

/** Values that are the same for every seller. See docs/emandate_fpx.md#what-is-known-and-what-is-not. */
export const SELLER = { seller_bank_code: "01", currency: "MYR", version: "7.0" } as const;

/** The settings of the deployment for FPX. */
export type FpxSettings = Pick<Config, "fpx_url" | "fpx_private_key_file" | "fpx_private_key_sellers">;

/** Whether the deployment's key file signs for a company without a key of its own. Decision 0090. */
export function signsByFile(
  { company_id, exchange_id, seller_id, private_key_sealed }: StoredConfig,
  { fpx_private_key_file, fpx_private_key_sellers }: FpxSettings,
): boolean {
  if (private_key_sealed !== null || fpx_private_key_file === null) return false;
  return (fpx_private_key_sellers ?? []).some(
    (named) =>
      named.company_id === company_id && named.exchange_id === exchange_id && named.seller_id === seller_id,
  );
}

/** The configuration on the wire: of secrets only whether they are set. */
export function toMerchantConfig(stored: StoredConfig, settings: FpxSettings): MerchantConfig {
  const { private_key_sealed, scheme_certificate_pem, ...stored_fields } = stored;
  const certificate =
    scheme_certificate_pem === null ? undefined : readCertificate(scheme_certificate_pem).read;
  return {
    ...stored_fields,
    ...SELLER,
    scheme: "FPX",
    has_private_key: private_key_sealed !== null || signsByFile(stored, settings),
    ...(certificate === undefined
      ? { certificate_fingerprint: null, certificate_expires_at: null }
      : describeCertificate(certificate)),
    authorization_amount: AUTHORIZATION_AMOUNT,
  };
}

/** The fields and deployment settings that FPX needs and that are missing. */
export function missingForFpx(stored: StoredConfig, settings: FpxSettings): string[] {
  const { exchange_id, seller_id, private_key_sealed, scheme_certificate_pem } = stored;
  return [
    ...(exchange_id === null ? ["exchange_id"] : []),
    ...(seller_id === null ? ["seller_id"] : []),
    ...(private_key_sealed === null && !signsByFile(stored, settings) ? ["private_key_pem"] : []),
    ...(scheme_certificate_pem === null ? ["scheme_certificate_pem"] : []),
    ...(settings.fpx_url === null ? ["FPX_URL (a setting of the deployment)"] : []),
  ];
}

/** The problems of a change by field, before it is merged with the stored configuration. */
export function changeProblems(
  change: UpdateEmandateConfig,
  policy: DestinationPolicy,
  now: Temporal.Instant,
): ErrorDetail[] {
  const { private_key_pem: key, scheme_certificate_pem: certificate, callback_url, return_url } = change;
  const found: [path: string, problem: string | null][] = [
    ["/private_key_pem", key ? (readPrivateKey(key).problem ?? null) : null],
    ["/scheme_certificate_pem", certificate ? certificateProblem(certificate, now) : null],
    ["/callback_url", callback_url ? urlProblem(callback_url, policy) : null],
    ["/return_url", return_url ? urlProblem(return_url, policy) : null],
  ];
  return found.flatMap(([path, message]) => (message === null ? [] : [{ path, message }]));
}

/** The problems that keep a configuration from being used with its connector. */
export function connectorProblems(stored: StoredConfig, settings: FpxSettings): ErrorDetail[] {
  if (stored.connector === "sandbox") return [];
  return missingForFpx(stored, settings).map((field) => ({
    path: /^[a-z_]+$/.test(field) ? `/${field}` : "/connector",
    message: /^[a-z_]+$/.test(field)
      ? "is required while the connector is fpx"
      : `must be sandbox: FPX needs ${field}`,
  }));
}

/** The problems of a change that removes what FPX mandates still need, after a switch to the sandbox. */
export function emptiedProblems(
  before: StoredConfig,
  after: StoredConfig,
  settings: FpxSettings,
): ErrorDetail[] {
  if (after.connector === "fpx") return [];
  const was_missing = new Set(missingForFpx(before, settings));
  return missingForFpx(after, settings)
    .filter((field) => !was_missing.has(field))
    .map((field) => ({ path: `/${field}`, message: "is required while mandates go on with FPX" }));
}

function certificateProblem(pem: string, now: Temporal.Instant): string | null {
  const { read, problem } = readCertificate(pem);
  if (problem !== undefined) return problem;
  const ends = Temporal.Instant.from(describeCertificate(read).certificate_expires_at);
  return Temporal.Instant.compare(ends, now) > 0 ? null : "must not have expired";
}

/** A browser or the scheme calls the URL, not this service: its host name is not resolved. */
function urlProblem(text: string, policy: DestinationPolicy): string | null {
  const { url, problem } = readUrl(text, policy);
  if (!url) return problem;
  const problems = (literalAddresses(url) ?? []).map((address) =>
    addressProblem(address, url.protocol, policy),
  );
  const refused = problems.find((found) => found !== null);
  if (refused !== undefined) return refused;
  return url.protocol === "https:" || problems.length > 0 ? null : "must be https";
}

/** Whether the scheme's bank list may be requested again. */
export function mayRefresh(asked_at: Temporal.Instant | null, now: Temporal.Instant): boolean {
  if (asked_at === null) return true;
  const since = asked_at.until(now).total("seconds");
  // A clock that was set back must not stop the refresh for good.
  return since < 0 || since >= LIMITS.bank_refresh_minutes * 60;
}
