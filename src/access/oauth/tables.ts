import type { ColumnKit } from "../../store/columns.ts";
import { SCOPE } from "../authorizations/scopes.ts";
import { authorizationTable, oauthClientTable } from "../authorizations/tables.ts";
import { TOKEN_KINDS } from "./model.ts";

/** Authorization requests whose sign-in page is open in a browser. */
export const authorizationRequestTable = (k: ColumnKit) =>
  k.table(
    "authorization_requests",
    {
      id: k.id(),
      /** SHA-256 of the secret that the page carries. */
      hash: k.text("hash").notNull(),
      oauth_client_id: k.ref("agent_id", oauthClientTable, { onDelete: "cascade" }).notNull(),
      redirect_uri: k.text("redirect_uri").notNull(),
      code_challenge: k.text("code_challenge").notNull(),
      state: k.text("state"),
      /** What the user is asked for. */
      scope: k.text("scope").notNull().default(SCOPE),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [
      k.uniqueIndex("authorization_requests_hash").on(t.hash),
      k.index("authorization_requests_agent").on(t.oauth_client_id),
      k.index("authorization_requests_expiry").on(t.expires_at),
    ],
  );

/** Codes, access and refresh tokens. Used ones stay for a while, so that their second use is noticed. */
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
