import type { ColumnKit } from "../../store/columns.ts";

/** Revoked REST tokens, until they would have expired. */
export const endedTokenTable = (k: ColumnKit) =>
  k.table(
    "ended_tokens",
    {
      /** The token's `jti`. */
      token_id: k.text("token_id").primaryKey(),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [k.index("ended_tokens_expiry").on(t.expires_at)],
  );
