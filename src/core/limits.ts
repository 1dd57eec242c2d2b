/** Hard limits that several families share. A family keeps its own in its limits.ts. */
export const SHARED_LIMITS = {
  /** Refused requests a minute: of one address whose callers are not signed in, and of a user those with bodies so large. */
  refused_minute: 600,
  /** How much the receiver of a file must take, on average while it is waited for. */
  download_bytes_s: 16 * 1024,
  /** How long its receiver may take nothing. */
  download_idle_ms: 60_000,
  page_limit: 200,
  page_limit_default: 20,
  /** A list that answers whole when no page is asked for stops here. */
  list_rows: 1_000,
  page_number: 1_000_000_000,
  name_length: 200,
  description_length: 1_000,
  external_id_length: 200,
  email_length: 254,
  password_length_min: 12,
  password_length_max: 256,
  /** As long as the hash that it keys: a shorter secret is easier to guess than to break. */
  secret_bytes: 32,
  /** Password hashes computed at once, and callers that may wait for one. */
  password_hashes: 4,
  password_hashes_waiting: 200,
  url_length: 2_048,
  /** Keys that open sealed secrets: today's and the one before. */
  secrets_keys: 2,
  rsa_bits_min: 2_048,
  rsa_bits_max: 8_192,
  /** Rows that are forgotten in one transaction. */
  prune_rows: 2_000,
  /** Buckets a rate limiter remembers. */
  rate_limit_buckets: 100_000,
} as const;
