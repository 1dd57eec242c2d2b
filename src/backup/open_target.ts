import { fileURLToPath } from "node:url";
import { FileTarget } from "./file_target.ts";
import { S3Target } from "./s3_target.ts";
import type { Target } from "./target.ts";

/**
 * Opens the target of `BACKUP_URL`: `file:///folder`, or `s3://bucket/prefix` with the credentials and the endpoint of
 * the environment (`S3_ACCESS_KEY_ID`, `S3_SECRET_ACCESS_KEY`, `S3_REGION`, `S3_ENDPOINT`).
 */
export function openTarget(url: string): Target {
  const { protocol, hostname, pathname } = new URL(url);
  if (protocol === "file:") return new FileTarget(url, fileURLToPath(url));
  return new S3Target(url, hostname, decodeURIComponent(pathname).replace(/^\/+|\/+$/g, ""));
}
