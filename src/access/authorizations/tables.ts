import { type ColumnKit, stamps } from "../../store/columns.ts";
import { SCOPE } from "./scopes.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";

/** OAuth clients: programs that registered themselves. They belong to no company. */
export const oauthClientTable = (k: ColumnKit) =>
  k.table(
    "agents",
    {
      id: k.id(),
      /** OAuth's client_id. */
      public_id: k.text("public_id").notNull(),
      name: k.text("name"),
      redirect_uris: k.json<string[]>("redirect_uris").notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("agents_public_id").on(t.public_id), k.index("agents_created").on(t.created_at)],
  );

/** What users granted. A row outlives its authorization for a while, and so does the client it refers to. */
export const authorizationTable = (k: ColumnKit) =>
  k.table(
    "authorizations",
    {
      id: k.id(),
      ...companyColumn(k),
      /** A user's id, which is never reused. */
      user_id: k.integer("user_id").notNull(),
      oauth_client_id: k.ref("agent_id", oauthClientTable).notNull(),
      redirect_uri: k.text("redirect_uri").notNull(),
      /** What was granted, which the user may have narrowed. */
      scope: k.text("scope").notNull().default(SCOPE),
      code_challenge: k.text("code_challenge").notNull(),
      /** When the last of its tokens expires. */
      expires_at: k.at("expires_at").notNull(),
      /** Set when it was ended before that. */
      ended_at: k.at("ended_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("authorizations_user").on(t.company_id, t.user_id, t.id),
      k.index("authorizations_agent").on(t.oauth_client_id),
      k.index("authorizations_expiry").on(t.company_id, t.expires_at),
    ],
  );
