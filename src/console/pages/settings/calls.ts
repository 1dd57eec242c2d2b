import type { Authorization } from "../../../access/authorizations/model.ts";
import type { BrowserSession } from "../../../access/browser_sessions/model.ts";
import type { UserLink } from "../../../access/user_links/model.ts";
import type { User } from "../../../access/users/model.ts";
import type { AuditEntry } from "../../../audit/model.ts";
import type { Company } from "../../../tenancy/companies/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const getCompany = get<typeof Company>("/company");
export const updateCompany = put<typeof Company>("/company");

export const listUsers = list<typeof User>("/users");
export const getUser = get<typeof User>("/users/:id");
export const createUser = post<typeof User>("/users");
export const updateUser = put<typeof User>("/users/:id");
export const createUserLink = post<typeof UserLink>("/users/:id/link");
export const deleteUser = remove<typeof Nothing>("/users/:id");

export const listAuditEntries = list<typeof AuditEntry>("/audit-log");

export const changePassword = post<typeof Nothing>("/me/password");
export const listSessions = list<typeof BrowserSession>("/me/sessions");
export const endSession = remove<typeof Nothing>("/me/sessions/:id");
export const listAuthorizations = list<typeof Authorization>("/me/authorizations");
export const endAuthorization = remove<typeof Nothing>("/me/authorizations/:id");
