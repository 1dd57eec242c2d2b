import type { ColumnKit } from "../../store/columns.ts";

export function sessionTables(k: ColumnKit) {
  /** REST tokens that were ended before their time, until they would have expired. */
  const ended_tokens = k.table(
    "ended_tokens",
    {
      /** The token's `jti`. */
      token_id: k.text("token_id").primaryKey(),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [k.index("ended_tokens_expiry").on(t.expires_at)],
  );
  return { ended_tokens };
}
