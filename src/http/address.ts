import type { Deps } from "../app/deps.ts";
import { readAddress } from "../core/network.ts";

/** The listening server, as far as requests need it. */
export interface ListeningServer {
  port?: number | undefined;
  requestIP(request: Request): { address: string } | null;
}

/** The caller's network address, if there is one. With TRUST_PROXY it is the proxy's last entry, if that is valid. */
export function addressOf(deps: Deps, request: Request, server: ListeningServer | null): string | null {
  const forwarded = deps.config.trust_proxy ? request.headers.get("x-forwarded-for") : null;
  const forwarded_for = forwarded?.split(",").at(-1)?.trim() ?? "";
  const by_proxy = forwarded_for === "" ? null : readAddress(forwarded_for);
  return by_proxy ?? server?.requestIP(request)?.address ?? null;
}
