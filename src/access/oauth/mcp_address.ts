import { AppError } from "../../core/errors.ts";
import {
  everyToolset,
  type GrantedToolsets,
  type Reach,
  TOOLSETS,
  type Toolset,
} from "../../core/toolsets.ts";
import { scopeOfToolsets } from "../authorizations/scopes.ts";

/** An address of the MCP endpoint, and the toolsets that it has: `/mcp/x/billing,usage/readonly`. */
export interface McpAddress {
  path: string;
  reachable: GrantedToolsets;
}

const ROOT = "/api/v1/mcp";
const READ_ONLY = "/readonly";

/** The endpoint's address with all toolsets. */
export const WHOLE_ENDPOINT: McpAddress = { path: ROOT, reachable: everyToolset("write") };

/** The MCP address of a path; undefined for any other, or one that names an unknown toolset. */
export function mcpAddressOf(path: string): McpAddress | undefined {
  const plain = path.replace(/\/$/, "").replaceAll(/%2c/gi, ",");
  const [, list, suffix] = /^\/api\/v1\/mcp(?:\/x\/([a-z,]+))?(\/readonly)?$/.exec(plain) ?? [];
  if (list === undefined && suffix === undefined) return plain === ROOT ? WHOLE_ENDPOINT : undefined;
  const reach: Reach = suffix === READ_ONLY ? "read" : "write";
  if (list === undefined) return { path: plain, reachable: everyToolset(reach) };
  const named = list.split(",").map((word) => TOOLSETS.find((toolset) => toolset === word));
  const known = named.filter((toolset): toolset is Toolset => toolset !== undefined);
  if (known.length < named.length) return undefined;
  return { path: plain, reachable: Object.fromEntries(known.map((toolset) => [toolset, reach])) };
}

/** The MCP address of a request's path. Errors: not_found. */
export function requireMcpAddress(path: string): McpAddress {
  const address = mcpAddressOf(path);
  if (address) return address;
  throw new AppError(
    "not_found",
    `No such address: ${ROOT}/x/ is followed by toolsets with commas between, of ${TOOLSETS.join(", ")}, and then by nothing or /readonly`,
  );
}

/** An address as a resource that tokens are for: RFC 8707. */
export function resourceAt(origin: string, { path }: McpAddress = WHOLE_ENDPOINT): string {
  return `${origin}${path}`;
}

/** Where a resource's metadata is: RFC 9728, the resource's path after the well-known one. */
export function resourceMetadataAt(origin: string, { path }: McpAddress = WHOLE_ENDPOINT): string {
  return `${origin}/.well-known/oauth-protected-resource${path}`;
}

/**
 * The WWW-Authenticate of the resource's 401: where to get a token, and whether one was refused. Without a token
 * there is no error to name (RFC 6750).
 */
export function challengeAt(
  origin: string,
  was_token_sent: boolean,
  address: McpAddress = WHOLE_ENDPOINT,
): string {
  const error = was_token_sent ? ', error="invalid_token"' : "";
  return `Bearer resource_metadata="${resourceMetadataAt(origin, address)}", scope="${scopeOfToolsets(address.reachable)}"${error}`;
}
