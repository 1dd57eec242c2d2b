import type { Config } from "../core/config.ts";

/** The origin under which the world reaches the service, without a slash at the end. */
export function publicOrigin(
  { public_url, port }: Config,
  server: { port?: number | undefined } | null,
): string {
  return public_url ?? `http://localhost:${server?.port ?? port}`;
}
