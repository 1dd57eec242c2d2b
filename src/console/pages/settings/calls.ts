import type { Authorization } from "../../../access/authorizations/model.ts";
import type { BrowserSession } from "../../../access/browser_sessions/model.ts";
import type { UserLink } from "../../../access/user_links/model.ts";
import type { User } from "../../../access/users/model.ts";
import type { AuditEntry } from "../../../audit/model.ts";
import type { ClientDetail } from "../../../billing/clients/model.ts";
import type { Client } from "../../../tenancy/clients/model.ts";
import type { Company } from "../../../tenancy/companies/model.ts";
import type { BillingModel } from "../../../billing/billing_models/model.ts";
import type { Nothing } from "../../../core/schema.ts";
import { get, list, post, put, remove } from "../../api/call.ts";

export const getCompany = get<typeof Company>("/company", "Company");
export const updateCompany = put<typeof Company>("/company", "Company");
export const listBillingModels = list<typeof BillingModel>("/billing-models", "BillingModel");

export const listUsers = list<typeof User>("/users", "User");
export const getUser = get<typeof User>("/users/:id", "User");
export const createUser = post<typeof User>("/users", "User");
export const updateUser = put<typeof User>("/users/:id", "User");
export const createUserLink = post<typeof UserLink>("/users/:id/link", "UserLink");
export const deleteUser = remove<typeof Nothing>("/users/:id", "Nothing");
export const getClient = get<typeof ClientDetail>("/clients/:id", "ClientDetail");
export const listClients = list<typeof Client>("/clients", "Client");

export const listAuditEntries = list<typeof AuditEntry>("/audit-log", "AuditEntry");

export const changePassword = post<typeof Nothing>("/me/password", "Nothing");
export const listSessions = list<typeof BrowserSession>("/me/sessions", "BrowserSession");
export const endSession = remove<typeof Nothing>("/me/sessions/:id", "Nothing");
export const listAuthorizations = list<typeof Authorization>("/me/authorizations", "Authorization");
export const endAuthorization = remove<typeof Nothing>("/me/authorizations/:id", "Nothing");
