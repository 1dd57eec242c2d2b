import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A private key and the certificate that it signed itself, as PEM. */
export interface Identity {
  private_key_pem: string;
  certificate_pem: string;
}

/** Makes a key as PEM. */
export function makeKey(kind: "rsa" | "rsa 1024" | "ec" = "rsa"): string {
  const { privateKey } =
    kind === "ec"
      ? generateKeyPairSync("ec", { namedCurve: "P-256" })
      : generateKeyPairSync("rsa", { modulusLength: kind === "rsa" ? 2048 : 1024 });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Makes a key and its certificate, which is valid from now on for some days. */
export function makeIdentity({ key = makeKey(), days = 30 } = {}): Identity {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-pem-"));
  try {
    const [key_file, out] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    writeFileSync(key_file, key, { mode: 0o600 });
    const words = [
      "req",
      "-x509",
      "-key",
      key_file,
      "-subj",
      "/CN=scheme.example.test",
      "-days",
      String(days),
    ];
    const made = Bun.spawnSync(["openssl", ...words, "-out", out]);
    if (made.exitCode !== 0) throw new Error(`openssl: ${made.stderr.toString()}`);
    return { private_key_pem: key, certificate_pem: readFileSync(out, "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
