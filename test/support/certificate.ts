import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A certificate that is its own authority, for a name, or for an address of IPv4. */
export interface Certificate {
  cert: string;
  key: string;
  /** The file of `cert`. */
  path: string;
}

/** Makes one with `openssl`, in a folder that goes with the test's others. */
export function makeCertificate(name: string): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "meterhouse-tls-"));
  const [key_path, path] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const kind = /^[0-9.]+$/.test(name) ? "IP" : "DNS";
  const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=${kind}:${name}`];
  const files = ["-keyout", key_path, "-out", path];
  const words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...subject];
  const made = Bun.spawnSync(["openssl", ...words]);
  if (made.exitCode !== 0) throw new Error(`openssl: ${made.stderr.toString()}`);
  return { cert: readFileSync(path, "utf8"), key: readFileSync(key_path, "utf8"), path };
}
