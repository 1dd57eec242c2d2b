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

/** Sign-ins that count under a key, as several instances tell each other of them. */
export const signInCountTable = (k: ColumnKit) =>
  k.table(
    "sign_in_counts",
    {
      id: k.id(),
      /** A keyed hash: it names no network and no account. */
      key_hash: k.text("key_hash").notNull(),
      instance_id: k.text("instance_id").notNull(),
      expires_at: k.at("expires_at").notNull(),
    },
    (t) => [
      k.index("sign_in_counts_key").on(t.key_hash, t.expires_at),
      k.index("sign_in_counts_expiry").on(t.expires_at),
    ],
  );
