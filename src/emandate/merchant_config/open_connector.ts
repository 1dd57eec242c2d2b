import { readFile } from "node:fs/promises";
import type { KeyObject } from "node:crypto";
import type { Context } from "../../app/context.ts";
import { AppError } from "../../core/errors.ts";
import { readCertificate, readPrivateKey } from "../../core/pem.ts";
import { fpx } from "../scheme/fpx.ts";
import { sandbox } from "../scheme/sandbox.ts";
import type { ConnectorName, SchemeConnector } from "../scheme/connector.ts";
import { missingForFpx, SELLER, type StoredConfig } from "./rules.ts";

/** The place that a company's encrypted private key is bound to. */
export function keyPlace(company_id: number): string {
  return `emandate_configs/${company_id}/private_key`;
}

/**
 * Opens a company's connector: the configured one, or the one that a mandate began with.
 * Errors: conflict where FPX is not configured, naming what is missing, or a key can't be read.
 */
export async function openConnector(
  { config, secrets }: Pick<Context, "config" | "secrets">,
  stored: StoredConfig,
  name: ConnectorName = stored.connector,
): Promise<SchemeConnector> {
  if (name === "sandbox") return sandbox;
  const { exchange_id, seller_id, scheme_certificate_pem } = stored;
  const { fpx_url: url } = config;
  const missing = missingForFpx(stored, config);
  if (missing.length > 0 || !url || !exchange_id || !seller_id || !scheme_certificate_pem) {
    throw unusable(`not configured: ${missing.join(", ")} missing`);
  }
  const { read: certificate, problem } = readCertificate(scheme_certificate_pem);
  if (problem !== undefined) throw unusable(`scheme_certificate_pem ${problem}`);
  const private_key = await openKey(stored, { config, secrets });
  const { seller_bank_code, version } = SELLER;
  return fpx({ url, exchange_id, seller_id, seller_bank_code, version, certificate, private_key });
}

/** The company's own key, else the deployment's, which `missingForFpx` has checked to be for it. */
async function openKey(
  { company_id, private_key_sealed }: StoredConfig,
  { config, secrets }: Pick<Context, "config" | "secrets">,
): Promise<KeyObject> {
  const pem =
    private_key_sealed === null
      ? await readKeyFile(config.fpx_private_key_file ?? "")
      : secrets.open(private_key_sealed, keyPlace(company_id));
  const { read, problem } = readPrivateKey(pem);
  if (problem === undefined) return read;
  throw unusable(`${private_key_sealed === null ? "FPX_PRIVATE_KEY_FILE" : "private_key_pem"} ${problem}`);
}

function readKeyFile(path: string): Promise<string> {
  return readFile(path, "utf8").catch((cause: unknown) => {
    throw unusable("FPX_PRIVATE_KEY_FILE can't be read", cause);
  });
}

function unusable(reason: string, cause?: unknown): AppError {
  return new AppError("conflict", `Cannot work with FPX: ${reason}`, { cause });
}
