import { AppError } from "./errors.ts";

/** Everything a user may be allowed to do: what is touched, then how. */
export const PERMISSIONS = [
  "companies:read",
  "companies:write",
  "company:read",
  "company:write",
  "users:read",
  "users:write",
  "audit:read",
  "clients:read",
  "clients:write",
  "products:read",
  "products:write",
  "billing_models:read",
  "billing_models:write",
  "meters:read",
  "meters:write",
  "entitlements:read",
  "entitlements:write",
  "subscriptions:read",
  "subscriptions:write",
  "billing:read",
  "billing:write",
  "simulations:write",
  "revenue:read",
  "forms:read",
  "forms:write",
  "usage:read",
  "usage:write",
  "usage:erase",
  "people:erase",
  "events:read",
  "webhooks:read",
  "webhooks:write",
  "emandate:read",
  "emandate:write",
  "emandate_config:write",
  "api_keys:read",
  "api_keys:write",
  "lending:read",
  "lending:write",
  "borrowing:read",
  "borrowing:write",
  "profile:read",
  "profile:write",
  "session:open",
] as const;
export type Permission = (typeof PERMISSIONS)[number];

export const COMPANY_ROLES = ["admin", "manager", "analyst"] as const;
export const ROLES = [...COMPANY_ROLES, "client"] as const;
export type Role = (typeof ROLES)[number];

/** What a machine's API key is for. */
export const KEY_ROLES = ["lender", "agent", "ingest", "gateway"] as const;
export type KeyRole = (typeof KEY_ROLES)[number];

/** The two environments of loan data, fully isolated from each other. */
export const ENVIRONMENTS = ["staging", "production"] as const;
export type Environment = (typeof ENVIRONMENTS)[number];

/**
 * Company users work under the top-level paths, client users under `/my/`, machines under the paths that their
 * key's role names.
 */
export type Level = "company" | "client" | KeyRole;

/** Permissions of the operator, at the command line: no user of a company holds them. */
const OPERATOR: readonly Permission[] = ["companies:read", "companies:write"];

const admin = PERMISSIONS.filter(
  (permission) => permission !== "session:open" && !OPERATOR.includes(permission),
);
/** Who holds these decides who gets in, where the company's data or money goes, or what is gone for good. */
const ADMIN_ONLY: readonly Permission[] = [
  "usage:erase",
  "people:erase",
  "users:read",
  "users:write",
  "webhooks:read",
  "webhooks:write",
  "emandate_config:write",
  "audit:read",
  "api_keys:read",
  "api_keys:write",
];
const manager = admin.filter((permission) => !ADMIN_ONLY.includes(permission));
const analyst = manager.filter(
  (permission) =>
    permission.endsWith(":read") || permission === "profile:write" || permission === "simulations:write",
);

/**
 * What each role may do. A client's permissions are met by the same operations as a company's, narrowed by
 * its scope.
 */
const ROLE_PERMISSIONS: Record<Role, ReadonlySet<Permission>> = {
  admin: new Set(admin),
  manager: new Set(manager),
  analyst: new Set(analyst),
  client: new Set<Permission>([
    "billing_models:read",
    "subscriptions:read",
    "entitlements:read",
    "billing:read",
    "forms:read",
    "forms:write",
    "usage:read",
    "profile:read",
    "profile:write",
  ]),
};

/** What a machine may do with a key of each role. Decision 0100. */
const KEY_PERMISSIONS: Record<KeyRole, ReadonlySet<Permission>> = {
  lender: new Set<Permission>(["lending:read", "lending:write"]),
  agent: new Set<Permission>(["borrowing:read", "borrowing:write"]),
  ingest: new Set<Permission>(["usage:write"]),
  gateway: new Set<Permission>(["usage:write", "entitlements:read"]),
};

/** What a role may do, in the order of PERMISSIONS. */
export function permissionsOf(role: Role): Permission[] {
  return PERMISSIONS.filter((permission) => ROLE_PERMISSIONS[role].has(permission));
}

/**
 * The authenticated principal: anonymous (sign-in), operator (deployment-wide command line), system (jobs and command
 * line, for one company), a user, or an API key.
 */
export type Actor =
  | { kind: "anonymous" }
  | { kind: "operator" }
  | {
      kind: "user";
      user_id: number;
      email: string;
      company_id: number;
      client_id: number | null;
      role: Role;
      /** The REST token that the user came with; absent where an OAuth client acts. */
      token?: { id: string; expires_ms: number };
      /** The authorization by which an OAuth client acts; absent where the user acts. */
      authorization_id?: number;
      /** The environment in which a user acts on loans; absent elsewhere. */
      environment?: Environment;
    }
  | {
      kind: "key";
      key_id: number;
      /** The first of the keys that carry on one another's work: whose loan applications a loan agent sees. */
      agent_key_id: number;
      company_id: number;
      role: KeyRole;
      environment: Environment;
    }
  | { kind: "system"; company_id: number };

/** Whose requests are counted together, and whose Idempotency-Keys are the same: a user's, or an API key's. */
export interface Principal {
  kind: "user" | "key";
  id: number;
}

/** Whose requests the actor's are; null where nobody's are counted. */
export function principalOf(actor: Actor): Principal | null {
  if (actor.kind === "user") return { kind: "user", id: actor.user_id };
  return actor.kind === "key" ? { kind: "key", id: actor.key_id } : null;
}

/** What the actor may do and see, apart from whose company it is: the same call under other rights is another. */
export function privilegesOf(actor: Actor): (string | number | null)[] {
  if (actor.kind === "user") return [actor.role, actor.client_id];
  return actor.kind === "key" ? [actor.role, actor.environment] : [];
}

/** Whose rows a query may see. Every query takes one, so another company's row is simply not there. */
export interface Scope {
  company_id: number;
  /** Present for client users: only rows of this client. */
  client_id?: number;
}

/** Whether the actor holds the permission. */
export function may(actor: Actor, permission: Permission): boolean {
  if (actor.kind === "anonymous") return permission === "session:open";
  if (actor.kind === "operator") return OPERATOR.includes(permission);
  if (actor.kind === "key") return KEY_PERMISSIONS[actor.role].has(permission);
  // The system actor has the permissions of a company's admin.
  return ROLE_PERMISSIONS[actor.kind === "system" ? "admin" : actor.role].has(permission);
}

/** The rows the actor may see. Errors: unauthorized for an actor that belongs to no company. */
export function scopeOf(actor: Actor): Scope {
  if (actor.kind === "anonymous" || actor.kind === "operator")
    throw new AppError("unauthorized", "Sign in first");
  if (actor.kind === "user" && actor.client_id !== null) {
    return { company_id: actor.company_id, client_id: actor.client_id };
  }
  return { company_id: actor.company_id };
}

/** The environment the actor works in. Errors: forbidden for an actor that works in none. */
export function environmentOf(actor: Actor): Environment {
  const environment = actor.kind === "key" || actor.kind === "user" ? actor.environment : undefined;
  if (environment !== undefined) return environment;
  throw new AppError("forbidden", "Choose the environment to work in: staging or production");
}

/** The level whose paths the actor may use. */
export function levelOf(actor: Actor): Level {
  if (actor.kind === "key") return actor.role;
  return actor.kind === "user" && actor.role === "client" ? "client" : "company";
}
