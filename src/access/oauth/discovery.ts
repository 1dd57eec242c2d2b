import { scopesWithin } from "../authorizations/scopes.ts";
import { type McpAddress, resourceAt, resourceMetadataAt, WHOLE_ENDPOINT } from "./mcp_address.ts";

// Discovery metadata. The issuer has no trailing slash: clients compare it as text.

/** Protected resource metadata: RFC 9728. An address of some toolsets is a resource of its own. */
export function resourceMetadata(origin: string, address: McpAddress = WHOLE_ENDPOINT) {
  return {
    resource: resourceAt(origin, address),
    resource_name: "Meterhouse",
    authorization_servers: [origin],
    scopes_supported: scopesWithin(address.reachable),
    bearer_methods_supported: ["header"],
  };
}

/** Authorization server metadata: RFC 8414. Codes with PKCE only, for public clients. */
export function serverMetadata(origin: string) {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/oauth/authorize`,
    token_endpoint: `${origin}/oauth/token`,
    registration_endpoint: `${origin}/oauth/register`,
    revocation_endpoint: `${origin}/oauth/revoke`,
    scopes_supported: scopesWithin(WHOLE_ENDPOINT.reachable),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
  };
}

/** Both kinds of metadata in one document. */
export function mcpMetadata(origin: string) {
  return {
    ...serverMetadata(origin),
    mcp_endpoint: resourceAt(origin),
    transport: "streamable-http" as const,
    resource: resourceAt(origin),
    authorization_server_metadata: `${origin}/.well-known/oauth-authorization-server`,
    protected_resource_metadata: resourceMetadataAt(origin),
  };
}
