import { type ColumnKit, stamps } from "../../store/columns.ts";
import { companyColumn } from "../../tenancy/companies/tables.ts";
import { TOKEN_KINDS } from "./model.ts";

/** Programs that registered themselves: OAuth's clients. They belong to nobody until someone grants them something. */
export const oauthClientTable = (k: ColumnKit) =>
  k.table(
    "agents",
    {
      id: k.id(),
      /** What OAuth calls client_id. */
      public_id: k.text("public_id").notNull(),
      name: k.text("name"),
      redirect_uris: k.json<string[]>("redirect_uris").notNull(),
      ...stamps(k),
    },
    (t) => [k.uniqueIndex("agents_public_id").on(t.public_id), k.index("agents_created").on(t.created_at)],
  );

/** Sign-in pages that are open in a browser. */
export const authorizationRequestTable = (k: ColumnKit) =>
  k.table(
    "authorization_requests",
    {
      id: k.id(),
      /** SHA-256 of what the page carries. */
      hash: k.text("hash").notNull(),
      agent_id: k.ref("agent_id", oauthClientTable, { onDelete: "cascade" }).notNull(),
      redirect_uri: k.text("redirect_uri").notNull(),
      code_challenge: k.text("code_challenge").notNull(),
      state: k.text("state"),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("authorization_requests_hash").on(t.hash),
      k.index("authorization_requests_agent").on(t.agent_id),
      k.index("authorization_requests_expiry").on(t.expires_at),
    ],
  );

/** What users granted. A row stays for a while after its end, so that its agent is not forgotten at once. */
export const authorizationTable = (k: ColumnKit) =>
  k.table(
    "authorizations",
    {
      id: k.id(),
      ...companyColumn(k),
      /** A user's id, which is never handed out again. */
      user_id: k.integer("user_id").notNull(),
      agent_id: k.ref("agent_id", oauthClientTable).notNull(),
      redirect_uri: k.text("redirect_uri").notNull(),
      code_challenge: k.text("code_challenge").notNull(),
      /** When the last of what it holds expires. */
      expires_at: k.at("expires_at").notNull(),
      /** Set when it was ended before that. */
      ended_at: k.at("ended_at"),
      ...stamps(k),
    },
    (t) => [
      k.index("authorizations_user").on(t.company_id, t.user_id, t.id),
      k.index("authorizations_agent").on(t.agent_id),
      k.index("authorizations_expiry").on(t.company_id, t.expires_at),
    ],
  );

/** Used codes and refresh tokens stay, so that their second use is noticed. */
export const authorizationTokenTable = (k: ColumnKit) =>
  k.table(
    "authorization_tokens",
    {
      id: k.id(),
      authorization_id: k.ref("authorization_id", authorizationTable, { onDelete: "cascade" }).notNull(),
      kind: k.enumeration("kind", TOKEN_KINDS).notNull(),
      /** SHA-256: what is stored opens nothing. */
      hash: k.text("hash").notNull(),
      expires_at: k.at("expires_at").notNull(),
      used_at: k.at("used_at"),
    },
    (t) => [
      k.uniqueIndex("authorization_tokens_hash").on(t.hash),
      k.index("authorization_tokens_authorization").on(t.authorization_id),
      k.index("authorization_tokens_expiry").on(t.expires_at),
    ],
  );
