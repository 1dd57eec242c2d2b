import type { Config } from "../core/config.ts";

/** The public origin of the service, without a trailing slash. */
export function publicOrigin(
  { public_url, port }: Config,
  server: { port?: number | undefined } | null,
): string {
  return public_url ?? `http://localhost:${server?.port ?? port}`;
}
