import { AppError } from "./errors.ts";
import type { GrantedToolsets } from "./toolsets.ts";

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
  "spend_limits:write",
  "subscriptions:read",
  "subscriptions:write",
  "own_subscriptions:write",
  "billing:read",
  "billing:write",
  "simulations:write",
  "revenue:read",
  "forms:read",
  "forms:write",
  "usage:read",
  "usage:write",
  "usage:erase",
  "views:write",
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

/** `loan_officer`: a lender's staff. */
export const COMPANY_ROLES = ["admin", "manager", "analyst", "loan_officer"] as const;
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
/** What is of nobody but who writes it, or changes nothing that counts. */
const ANALYST_WRITES: readonly Permission[] = ["profile:write", "simulations:write", "views:write"];
const analyst = manager.filter(
  (permission) => permission.endsWith(":read") || ANALYST_WRITES.includes(permission),
);

/**
 * What each role may do. A client's permissions are met by the same operations as a company's, narrowed by
 * its scope.
 */
const ROLE_PERMISSIONS: Record<Role, ReadonlySet<Permission>> = {
  admin: new Set(admin),
  manager: new Set(manager),
  analyst: new Set(analyst),
  loan_officer: new Set<Permission>([
    "company:read",
    "forms:read",
    "lending:read",
    "lending:write",
    "profile:read",
    "profile:write",
  ]),
  client: new Set<Permission>([
    "billing_models:read",
    "subscriptions:read",
    "own_subscriptions:write",
    "entitlements:read",
    "spend_limits:write",
    "billing:read",
    "forms:read",
    "forms:write",
    "usage:read",
    "views:write",
    "profile:read",
    "profile:write",
  ]),
};

/** What a machine may do with a key of each role. Decision 0100. */
const KEY_PERMISSIONS: Record<KeyRole, ReadonlySet<Permission>> = {
  lender: new Set<Permission>(["lending:read", "lending:write", "profile:read"]),
  agent: new Set<Permission>(["borrowing:read", "borrowing:write", "profile:read"]),
  ingest: new Set<Permission>(["usage:write", "profile:read"]),
  gateway: new Set<Permission>(["usage:write", "entitlements:read", "profile:read"]),
};

/** What a role may do, in the order of PERMISSIONS. */
export function permissionsOf(role: Role | KeyRole): Permission[] {
  const held = isKeyRole(role) ? KEY_PERMISSIONS[role] : ROLE_PERMISSIONS[role];
  return PERMISSIONS.filter((permission) => held.has(permission));
}

const isKeyRole = (role: Role | KeyRole): role is KeyRole => role in KEY_PERMISSIONS;

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
      /** The REST token that the user came with; absent where the user came otherwise. */
      token?: { id: string; expires_ms: number };
      /** The session of the browser that the user came with; absent elsewhere. */
      session_id?: number;
      /** The authorization by which an OAuth client acts; absent where the user acts. */
      authorization_id?: number;
      /** The tools that the authorization is for; absent where the user acts. */
      toolsets?: GrantedToolsets;
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
