/** Hard limits that several families share. A family keeps its own in its limits.ts. */
export const SHARED_LIMITS = {
  /** Rejected requests a minute: for one address without a signed-in caller, for a user those with large bodies. */
  refused_minute: 600,
  /** The slowest average rate at which a receiver may take a download. */
  download_bytes_s: 16 * 1024,
  /** How long a receiver may take nothing. */
  download_idle_ms: 60_000,
  page_limit: 200,
  page_limit_default: 20,
  /** Rows of a list that is returned whole when no page is requested. */
  list_rows: 1_000,
  page_number: 1_000_000_000,
  name_length: 200,
  description_length: 1_000,
  external_id_length: 200,
  /** Billing models that a company offers its client users. */
  self_service_plans: 100,
  email_length: 254,
  password_length_min: 12,
  password_length_max: 256,
  /** The length of the hash that it keys: a shorter secret would be the weakest part. */
  secret_bytes: 32,
  /** Password hashes computed at once, and callers that may wait for one. */
  password_hashes: 4,
  password_hashes_waiting: 200,
  url_length: 2_048,
  /** Keys that decrypt stored secrets: the current one and the one before. */
  secrets_keys: 2,
  rsa_bits_min: 2_048,
  rsa_bits_max: 8_192,
  /** Expired rows deleted in one transaction. */
  prune_rows: 2_000,
  /** Buckets a rate limiter remembers. */
  rate_limit_buckets: 100_000,
} as const;
